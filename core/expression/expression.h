// The high-level representation (paper, Section 2, Figure 15):
//   out_view(...) o md_hom<N_1,...,N_D>(f, (op_1,...,op_D)) o inp_view(...)
// for concrete types and sizes, checked and immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/expression/combine_operator.h"
#include "core/expression/element_type.h"
#include "core/expression/index_function.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// What an access outside of a buffer's extents reads.
struct Boundary {
  enum class Kind : uint8_t {
    kNone,      // nothing: such an access is an error
    kConstant,  // `values`
    kClamp,     // the nearest element inside
  };
  Kind kind = Kind::kNone;
  std::vector<ScalarValue> values = {};  // kConstant: one per field of the buffer's type

  friend bool operator==(const Boundary&, const Boundary&) = default;
};

// A buffer (Definition 5) and the index functions by which the view accesses it (Definitions 8,
// 10).
struct Buffer {
  std::string name;
  ElementType type = ScalarType::kFloat32;
  // Ignored by Create if `extents_given` is false: computed as 1 + the largest index of all
  // accesses (Definition 8), 0 if there is none. A 0-dimensional buffer has no extents either way.
  std::vector<int64_t> extents;
  std::vector<IndexFunction> accesses;  // at least one
  bool extents_given = false;
  int mda_rank = 0;  // D; set by Create
  // Elements from one index of each dimension to the next, >= 0; empty: row-major and dense.
  std::vector<int64_t> given_strides = {};
  Boundary boundary = {};  // inputs with given extents only
  // Outputs only: elements that no index function reaches keep what is there, instead of becoming
  // zero. Create clears it where all elements are reached. Memory between elements with strides is
  // never written.
  bool keeps_unreached = false;

  // That memory holds: product of the extents if dense, 1 for 0 dimensions, 0 if an extent is 0.
  int64_t elements() const;
  int64_t size_bytes() const { return elements() * type.size_bytes(); }
  bool is_dense() const { return given_strides.empty(); }
  std::vector<int64_t> strides() const;  // given_strides, or row-major ones
  // `access` composed with the layout: element offset as an affine function of MDA indices.
  AffineIndex Linearized(int access) const;
  // The same for a field of the element, in units of the field's size from the buffer's start.
  AffineIndex Linearized(int access, int field) const;
  // Whether dimension d appears in an access.
  bool DependsOn(int d) const;
  // Offset of the element that `access` reads at a point, which a boundary may clamp; -1 if it
  // reads the boundary's constant.
  int64_t ElementAt(int access, absl::Span<const int64_t> mda_index) const;
};

struct Dimension {
  std::string name;  // of the index variable, e.g. "i"
  // N_d >= 0. With 0, a reduction gives the operator's identity, and a concatenation nothing.
  int64_t size;
};

// The store function of md_hom (an epilogue): at every point of the dimensions that are not
// reduced, once its results are final,
//   stored = s(results, what `inputs` hold for the point, its indices).
struct StoreFunction {
  // Parameters: the results of f, in their types; then the accesses of `inputs` in order of (b, a),
  // one per field of records; then the indices of index_dimensions as int64. Results: the output
  // accesses in order of (b, a), one per field; they are converted to the types of the outputs.
  ScalarFunction function;
  // Accessed by dimensions that are not reduced. One that is called as an input of inp_view is that
  // input: of the same type, extents, layout and boundary, which it need not repeat.
  std::vector<Buffer> inputs = {};
  std::vector<int> index_dimensions = {};  // ascending, not reduced
};

// Everything Create takes; plain data.
struct ExpressionSpec {
  std::string name;
  std::vector<Dimension> dimensions;  // D >= 1
  std::vector<Buffer> inputs;         // may be empty
  std::vector<Buffer> outputs;        // at least one
  // Parameters: input accesses in order of (b, a), one per field of records, then the indices of
  // index_dimensions as int64 (appendix B.4). Results: what the store function takes; without one,
  // output accesses in order of (b, a), one per field, and a result may have another type than the
  // buffer, in which it is combined, and is then converted when it is stored.
  ScalarFunction function;
  std::vector<CombineOperator> combine_operators;  // one per dimension
  std::vector<int> index_dimensions = {};          // ascending
  std::optional<StoreFunction> store = std::nullopt;
};

// The buffers of all views: inputs, what the store function reads, and outputs.
std::vector<const std::vector<Buffer>*> BuffersOf(const ExpressionSpec& spec);
std::vector<std::vector<Buffer>*> BuffersOf(ExpressionSpec* spec);

class Expression {
 public:
  static constexpr size_t kMaxDimensions = 64;
  // Of all inputs, and of all outputs.
  static constexpr size_t kMaxAccesses = 4096;

  // Checks: names are identifiers and distinct; sizes >= 0; index functions have D coefficients and
  // one index per buffer dimension; every index lies in its extent, or the buffer has a boundary;
  // strides of outputs keep elements apart; sizes, element counts and byte counts fit in 63 bits;
  // types of f fit the views; pw and ps operators of different dimensions are the same function
  // (Lemma 1); operators are associative, commutative where they must be, and their identities
  // neutral, on samples of what f computes; there is an identity where results combine nothing;
  // output index functions and those of the store function do not use dimensions that are
  // reduced with a non-zero coefficient, and outputs are written once (Definition 10).
  // Errors: InvalidArgument or OutOfRange; the message names buffer, access, dimension, and PlaceOf
  // (core/expression/expression_place.h) says where it is. Whether output index functions write an
  // element twice is decided exactly; if that takes too long the expression is rejected, and the
  // error says so.
  static Result<Expression> Create(ExpressionSpec spec);

  // Without checks: for parts of a computation that was checked as a whole. Expects that extents
  // and ranks of all buffers are set.
  static Expression Unchecked(ExpressionSpec spec) { return Expression(std::move(spec)); }

  const std::string& name() const { return spec_.name; }
  const std::vector<Dimension>& dimensions() const { return spec_.dimensions; }
  const std::vector<Buffer>& inputs() const { return spec_.inputs; }
  const std::vector<Buffer>& outputs() const { return spec_.outputs; }
  const ScalarFunction& function() const { return spec_.function; }
  const std::vector<CombineOperator>& combine_operators() const { return spec_.combine_operators; }

  const std::vector<int>& index_dimensions() const { return spec_.index_dimensions; }
  // nullptr: results are stored as they are.
  const StoreFunction* store() const { return spec_.store ? &*spec_.store : nullptr; }
  // Everything that Create took, completed by it.
  const ExpressionSpec& spec() const { return spec_; }

  // What a caller passes: inputs(), then those that only the store function reads.
  const std::vector<Buffer>& passed_inputs() const {
    return passed_inputs_.empty() ? spec_.inputs : passed_inputs_;
  }
  // Which of them store()->inputs[b] is.
  int passed_store_input(int b) const { return passed_store_inputs_[b]; }

  int rank() const { return static_cast<int>(spec_.dimensions.size()); }  // D
  bool is_reduction(int d) const { return spec_.combine_operators[d].is_point_wise(); }
  bool is_prefix_sum(int d) const { return spec_.combine_operators[d].is_prefix_sum(); }
  bool has_reduction() const;
  bool has_prefix_sum() const;
  // The operator of all dimensions that are not concatenated (they have the same function); only if
  // has_reduction() or has_prefix_sum().
  const CombineOperator& reduction() const;

  // (buffer, access, field) of parameter or result number n of f; the field of a scalar is 0.
  struct AccessRef {
    int buffer;
    int access;
    int field;
  };
  // Parameters that come from buffers; the others are indices.
  int input_parameters() const;
  bool is_index(int parameter) const { return parameter >= input_parameters(); }
  // Dimension whose index `parameter` is; only if is_index(parameter).
  int index_dimension(int parameter) const {
    return spec_.index_dimensions[parameter - input_parameters()];
  }
  AccessRef input_access(int parameter) const;
  // What is stored, one per access and field of the outputs: the results of the store function, or
  // those of f.
  const std::vector<TypedName>& stored() const {
    return spec_.store ? spec_.store->function.results() : spec_.function.results();
  }
  // Where number n of stored() goes, and its type there.
  AccessRef output_access(int n) const;
  ScalarType stored_type(int n) const;
  // Whether what is stored is not just what was combined: there is a store function, or some result
  // is combined in another type than it is stored in.
  bool finishes_results() const;
  // Parameters of the store function: first the results of f, then accesses of its inputs, then
  // indices.
  enum class StoreParameter : uint8_t { kResult, kAccess, kIndex };
  StoreParameter store_parameter(int parameter) const;
  AccessRef store_access(int parameter) const;  // of store()->inputs
  int store_index_dimension(int parameter) const;

  int64_t points() const;  // product of the dimensions' sizes
  // Of dimensions that are not reduced: results per access of an output.
  int64_t result_points() const;
  bool is_empty() const { return points() == 0; }
  // Floating-point operations of the whole computation: points * f, plus the combinations, plus the
  // store function once per point of the results.
  int64_t FloatingPointOperations() const;
  // Bytes of what is touched of inputs and outputs (core/expression/touched_elements.h), or an
  // upper bound.
  int64_t CompulsoryBytes() const;

 private:
  explicit Expression(ExpressionSpec spec);
  ExpressionSpec spec_;
  std::vector<AccessRef> input_accesses_, output_accesses_, store_accesses_;
  std::vector<Buffer> passed_inputs_;  // empty: the inputs
  std::vector<int> passed_store_inputs_;
};

}  // namespace mdh

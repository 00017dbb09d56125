// The high-level representation (paper, Section 2, Figure 15):
//   out_view(...) o md_hom<N_1,...,N_D>(f, (op_1,...,op_D)) o inp_view(...)
// for concrete types and sizes, checked and immutable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/combine_operator.h"
#include "core/index_function.h"
#include "core/scalar_function.h"
#include "core/status.h"

namespace mdh {

// A buffer (Definition 5) and the index functions by which the view accesses it (Definitions 8,
// 10). Stored row-major and dense.
struct Buffer {
  std::string name;
  ScalarType type;
  // Ignored by Create if `extents_given` is false: computed as 1 + the largest index of all
  // accesses (Definition 8). A 0-dimensional buffer has no extents either way.
  std::vector<int64_t> extents;
  std::vector<IndexFunction> accesses;  // at least one
  bool extents_given = false;
  int mda_rank = 0;  // D; set by Create

  int64_t elements() const;  // product of the extents, 1 for 0 dimensions
  int64_t size_bytes() const { return elements() * SizeBytes(type); }
  // Elements from one index of buffer dimension x to the next (row-major).
  std::vector<int64_t> strides() const;
  // `access` composed with the row-major layout: element offset as an affine function of MDA
  // indices.
  AffineIndex Linearized(int access) const;
};

struct Dimension {
  std::string name;  // of the index variable, e.g. "i"
  int64_t size;      // N_d >= 1
};

// Everything Create takes; plain data.
struct ExpressionSpec {
  std::string name;
  std::vector<Dimension> dimensions;               // D >= 1
  std::vector<Buffer> inputs;                      // may be empty
  std::vector<Buffer> outputs;                     // at least one
  ScalarFunction function;                         // parameters: input accesses in order of (b, a);
                                                   // results: output accesses in order of (b, a)
  std::vector<CombineOperator> combine_operators;  // one per dimension
};

class Expression {
 public:
  static constexpr size_t kMaxDimensions = 64;
  // Of all inputs, and of all outputs.
  static constexpr size_t kMaxAccesses = 4096;

  // Checks: names are identifiers and distinct; sizes >= 1; index functions have D coefficients and
  // one index per buffer dimension; every index lies in its extent; sizes, element counts and byte
  // counts fit in 63 bits; types of f fit the views; pw operators of different dimensions are the
  // same function (Lemma 1); output index functions do not use dimensions that are reduced with a
  // non-zero coefficient, and write no element twice (Definition 10).
  // Errors: InvalidArgument or OutOfRange; the message names buffer, access, dimension, and PlaceOf
  // (core/expression_place.h) says where it is. Whether output index functions write an element
  // twice is decided exactly; if that takes too long the expression is rejected, and the error says
  // so.
  static Result<Expression> Create(ExpressionSpec spec);

  const std::string& name() const { return spec_.name; }
  const std::vector<Dimension>& dimensions() const { return spec_.dimensions; }
  const std::vector<Buffer>& inputs() const { return spec_.inputs; }
  const std::vector<Buffer>& outputs() const { return spec_.outputs; }
  const ScalarFunction& function() const { return spec_.function; }
  const std::vector<CombineOperator>& combine_operators() const { return spec_.combine_operators; }

  int rank() const { return static_cast<int>(spec_.dimensions.size()); }  // D
  bool is_reduction(int d) const { return !spec_.combine_operators[d].is_concat(); }
  bool has_reduction() const;
  // The one pointwise operator of all reduced dimensions; only if has_reduction().
  const CombineOperator& reduction() const;

  // (buffer, access) of parameter or result number n of f.
  struct AccessRef {
    int buffer;
    int access;
  };
  AccessRef input_access(int parameter) const;
  AccessRef output_access(int result) const;

  int64_t points() const;  // product of the dimensions' sizes
  // Floating-point operations of the whole computation: points * f, plus the combinations.
  int64_t FloatingPointOperations() const;
  // Bytes of all inputs and outputs, each counted once: the least that must move.
  int64_t CompulsoryBytes() const;

 private:
  explicit Expression(ExpressionSpec spec) : spec_(std::move(spec)) {}
  ExpressionSpec spec_;
};

}  // namespace mdh

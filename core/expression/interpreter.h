// The reference interpreter: the definition of md_hom executed point by point (paper, Definition
// 4). Slow and obvious; every generated kernel is judged by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

// One buffer's bytes, row-major, size_bytes() of them.
using BufferBytes = std::vector<std::byte>;

// What combined values are kept in.
enum class Accumulation {
  kWide,  // fp64 instead of narrower floating-point types, rounded once at the end: the judge of
          // kernels that may re-associate
  kDeclared,   // the types of f's results, rounded after every combination:
               // NumericsPolicy::kExactOrder
  kFixedTree,  // the same in the tree of NumericsPolicy::kFixedTree
};

// That of kernels which keep to the policy.
Accumulation AccumulationOf(NumericsPolicy policy);

// Errors: InvalidArgument if the number or size of the inputs is wrong.
Status CheckInputs(const Expression& expression, absl::Span<const BufferBytes> inputs);

// Computes all outputs. Points are combined in lexicographic order of the MDA indices (with
// kFixedTree: those of a part, then the parts). Bytes of output buffers that no index function
// reaches are zero, also where they keep what is there (ElementContents tells which do); results
// that combine no point are the operator's identity. Errors: InvalidArgument if the number or size
// of the inputs is wrong.
Result<std::vector<BufferBytes>> Interpret(const Expression& expression,
                                           absl::Span<const BufferBytes> inputs,
                                           Accumulation accumulation = Accumulation::kWide);

// What is stored of the combined results of f at a point, in the types in which it is stored: the
// store function's results, or those of f. `results` may be in wider types than f's.
std::vector<ScalarValue> StoredValues(const Expression& expression,
                                      absl::Span<const std::byte* const> inputs,
                                      absl::Span<const int64_t> mda_index,
                                      std::vector<ScalarValue> results);

// The results of f at one output point, combined as InterpretAt says, in the types in which they
// are combined.
std::vector<ScalarValue> ResultsAt(const Expression& expression,
                                   absl::Span<const std::byte* const> inputs,
                                   absl::Span<const int64_t> mda_index,
                                   Accumulation accumulation = Accumulation::kWide);

// What is stored at one output point, in the types in which they are stored: f combined over all
// reduced dimensions, and over prefix sums up to the point. `mda_index` has one entry per
// dimension; those of reduced dimensions are ignored. `inputs`: one pointer per passed input.
// Serves to check samples of computations that are too large to interpret.
std::vector<ScalarValue> InterpretAt(const Expression& expression,
                                     absl::Span<const std::byte* const> inputs,
                                     absl::Span<const int64_t> mda_index,
                                     Accumulation accumulation = Accumulation::kWide);

// InterpretAt for many points of one expression, which is prepared once. Refers to the expression
// and to the contents of the inputs, which may change meanwhile. Not thread-safe.
class PointInterpreter {
 public:
  PointInterpreter(const Expression& expression, absl::Span<const std::byte* const> inputs,
                   Accumulation accumulation = Accumulation::kWide);
  PointInterpreter(const PointInterpreter&) = delete;

  // As these functions.
  std::vector<ScalarValue> ResultsAt(absl::Span<const int64_t> mda_index) {
    return results_at_(mda_index);
  }
  std::vector<ScalarValue> InterpretAt(absl::Span<const int64_t> mda_index) {
    return StoredValues(expression_, inputs_, mda_index, ResultsAt(mda_index));
  }

 private:
  const Expression& expression_;
  const std::vector<const std::byte*> inputs_;
  std::function<std::vector<ScalarValue>(absl::Span<const int64_t>)> results_at_;
};

}  // namespace mdh

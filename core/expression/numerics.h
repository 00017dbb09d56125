// What a kernel may change in floating-point results.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

// The numeric values are part of the wire format and of keys: append only.
enum class NumericsPolicy : uint8_t {
  // Combine operators are re-associated, in every run anew where blocks add atomically; multiply-
  // adds may be fused; exp and the like may be a few units in the last place off. Nothing else
  // changes: no value is taken to be finite or not to be zero, x * 0 and x - x are computed,
  // nothing is factored out of sums but by SplitContraction, and subnormal numbers are kept, but
  // that NVIDIA's atomic additions of
  // fp32 to device memory take them for zero. The sign of a sum that is zero may differ. Operators
  // whose laws do not hold once a value is nan are not re-associated (PolicyFor).
  kReassociate = 1,
  // As a loop nest in the order of the dimensions would compute it: every operation rounds by
  // itself,
  // and values are combined one after the other in lexicographic order of the MDA indices: first
  // those
  // of reduced dimensions, then prefix sums, the last dimension first.
  kExactOrder = 2,
  // The same bits on every run and device, but in a tree that leaves room for parallelism: parts of
  // FixedTreePart points are combined as with kExactOrder, then the parts from left to right.
  kFixedTree = 3,
};

// A policy and how closely results are checked when candidates are measured.
struct Numerics {
  NumericsPolicy policy = NumericsPolicy::kReassociate;
  // Largest relative error that passes; 0: what re-association and the types of the results explain
  // (nothing at all for kExactOrder).
  double tolerance = 0;

  friend bool operator==(const Numerics&, const Numerics&) = default;
};

// "reassociate", "exact" or "tree".
absl::string_view Name(NumericsPolicy policy);
// Errors: InvalidArgument, naming the words there are.
Result<NumericsPolicy> ParseNumericsPolicy(std::string_view name);

// What kernels of the expression keep to where `policy` is asked for: kExactOrder instead of
// kReassociate where its operator keeps the order (CombineOperator::keeps_order).
NumericsPolicy PolicyFor(const Expression& expression, NumericsPolicy policy);

// Points of one part along dimension d in the tree of kFixedTree: the longest reduced dimension
// (the first of several) and every prefix sum are cut into at most 16 parts of a multiple of 64
// points; all other dimensions are one part.
int64_t FixedTreePart(const Expression& expression, int d);

// Points of one part along dimension d that the policy fixes: FixedTreePart, else the whole
// dimension.
int64_t OrderedPart(const Expression& expression, NumericsPolicy policy, int d);

}  // namespace mdh

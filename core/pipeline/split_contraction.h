// F4: the order of contractions. A sum of products of several buffers is split into sums of
// products of two (merge_contractions.h puts them together again).
#pragma once

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// The pipeline in which step `step`, a sum of products of three buffers or more, is a sequence of
// sums of products of two, so that the fewest operations are left: a dimension is summed over as
// soon as no other factor depends on it. The order is the best one, found by dynamic programming
// over all sets of factors.
//
// Legal iff
//   - f has one result, a product of factors each of which depends on one access (by any function)
//     or on nothing, and all dimensions that are not concatenated are reduced by +;
//   - every reduced dimension stands in an access: else the sum counts points; no dimension is
//   empty;
//   - there are at most kMaxFactors factors.
// Sums and products are re-associated, and temporaries hold sums in the type in which f's results
// are combined: of floating-point types the result is rounded differently, which needs
// NumericsPolicy::kReassociate; integers wrap, so that theirs stay the same.
// Errors: FailedPrecondition with the obstacle, also if the step is in the best order as it is.
inline constexpr int kMaxFactors = 12;
Result<Pipeline> SplitContraction(const Pipeline& pipeline, int step);

// Whether results of this step may be rounded differently by the rewrites above: not those of
// integers.
bool IsRoundedByOrder(const Expression& expression);

}  // namespace mdh

// Dimensions that follow each other in memory, run through as one (loop collapsing): loops over the
// rows and columns of an array whose rows lie one behind the other are one loop over all its
// elements.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/expression/expression.h"

namespace mdh {

// The same computation on the same memory with the dimensions of every group run through as one:
// the last one of a group has all points of the group, in lexicographic order, the others have one.
// Dimensions, buffers and their ranks, accesses and their order stay; of a buffer, the last index
// that a group is in has the extents of all of them, the others have extent 1. Reductions combine
// the same values as before, in the same order if nothing else is between the dimensions of a
// group.
// Errors: InvalidArgument, naming the dimension or the buffer, if a group is no list of two or more
// dimensions, a dimension is in two groups, dimensions of a group are combined by different
// operators or by prefix sums, f takes their indices, or a buffer has them not one behind the other
// in every access, or has a boundary there.
Result<Expression> FuseDimensions(const Expression& expression, const FusedDimensions& groups);

// The same for the groups that parameters have. Also an error: reductions in a group if the
// numerics policy orders them.
Result<Expression> WithFusedDimensions(const Expression& expression,
                                       const TuningParameters& parameters);

// Groups that FuseDimensions accepts, as large as they can be. `plain`: only those of which nothing
// but constants is added to their indices, and in every access of a buffer the same ones: no input
// that points of a group share with other points is shared less once they are one dimension.
// `reductions`: of dimensions that are reduced, too.
FusedDimensions ContiguousDimensions(const Expression& expression, bool plain, bool reductions);

// The extents of a part with `tile[d]` points per dimension, of an expression of these sizes
// without fused dimensions, once `groups` are fused; and the other way round.
std::vector<int64_t> FusedExtents(std::vector<int64_t> tile, const FusedDimensions& groups,
                                  absl::Span<const int64_t> sizes);
std::vector<int64_t> SeparateExtents(std::vector<int64_t> tile, const FusedDimensions& groups,
                                     absl::Span<const int64_t> sizes);

}  // namespace mdh

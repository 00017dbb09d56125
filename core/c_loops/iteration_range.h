// Where the iterations of loops reach whose bounds depend on one another.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/c_loops/loop_nest.h"

namespace mdh {

// The least and the largest value of `index` over all iterations, where loops without iterations
// for some points of the outer ones count as if they had their bounds. nullopt if a bound is no
// multiple of the step, or a value does not fit in 63 bits.
std::optional<std::pair<int64_t, int64_t>> IterationRange(const AffineIndex& index,
                                                          const std::vector<Loop>& loops);

// The same over the box around all iterations, which is what a kernel computes.
std::optional<std::pair<int64_t, int64_t>> BoxRange(const AffineIndex& index,
                                                    const std::vector<Loop>& loops);

}  // namespace mdh

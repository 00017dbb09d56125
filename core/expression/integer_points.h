// Integer points of a box on which linear equations hold.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"

namespace mdh {

// sum_v coefficients[v] * x_v = value.
struct LinearEquation {
  std::vector<int64_t> coefficients;
  int64_t value;
};

// lowest <= x <= highest; both empty of meaning if lowest > highest.
struct IntegerInterval {
  int64_t lowest;
  int64_t highest;
};

// A point of the box that satisfies all equations, nullopt if there is none. Depth-first search
// over the variables with propagation of bounds and of congruences. `steps` is decreased by one for
// every node visited. Errors: ResourceExhausted when it reaches 0.
Result<std::optional<std::vector<int64_t>>> FindIntegerPoint(
    const std::vector<LinearEquation>& equations, std::vector<IntegerInterval> box, int64_t* steps);

}  // namespace mdh

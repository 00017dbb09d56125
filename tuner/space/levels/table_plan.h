// Which conditions of a level are tabulated together.
#pragma once

#include <functional>
#include <vector>

#include "tuner/space/levels/level_plan.h"

namespace mdh {

// Most positions of a level that is tabulated: they are the bits of a word.
inline constexpr uint32_t kMaxTablePositions = 64;

// `steps_of` gives what has to be evaluated at the level for an operation; `depends`: whether an
// operation depends on the level's parameter. Expects all of the level
// but its tables to be planned. None where tables do not pay: few states, long ranges, predicates.
std::vector<TablePlan> PlanTables(const SpacePlan& plan, int level,
                                  const std::function<std::vector<Step>(int operation)>& steps_of,
                                  const std::function<bool(int operation)>& depends);

}  // namespace mdh

// Configurations from rules for contractions on matrix units of warps (UnitWarps), for types and
// devices for which there are no units of groups.
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/decomposition/unit_plan.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Cycles that a call takes as far as multiprocessors' units, the second-level cache and shared
// memory decide: what configurations of one contraction are ranked by. Expects a plan that is cut.
double WarpUnitCycles(const UnitPlan& plan, const UnitParameters& unit,
                      const DeviceDescription& device);

// The same parameters with units of warps, the likeliest to be fast first, at most so many; none
// where the device has no such unit, or the expression is nothing for it.
std::vector<TuningParameters> WarpUnitVariants(const Expression& expression,
                                               const SystemModel& model,
                                               const DeviceDescription& device,
                                               const TuningParameters& parameters, size_t most);

}  // namespace mdh

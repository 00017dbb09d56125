// Configurations from rules for contractions on matrix units (codegen/lower/units/unit_program.h):
// where the search starts, and what a caller gets before tuning.
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/decomposition/unit_plan.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Cycles that a call takes as far as a multiprocessor's unit, the second-level cache and copying
// decide: what configurations of one contraction are ranked by.
// Expects what the plan was cut for.
double UnitCycles(const UnitPlan& plan, const TuningParameters& parameters,
                  const DeviceDescription& device);

// The same parameters with the unit, the likeliest to be fast first, at most so many; none where
// the device has no such unit, or the expression is nothing for it.
std::vector<TuningParameters> UnitVariants(const Expression& expression, const SystemModel& model,
                                           const DeviceDescription& device,
                                           const TuningParameters& parameters, size_t most);

// Whether rules prefer the unit to threads that compute themselves, which take so many cycles by
// their cost model.
bool PrefersUnit(const Expression& expression, const DeviceDescription& device,
                 const TuningParameters& variant, double thread_cycles);

}  // namespace mdh

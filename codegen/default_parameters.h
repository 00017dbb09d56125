// A configuration from rules: what a caller gets before tuning, and where the search starts.
#pragma once

#include "core/device_description.h"
#include "core/expression.h"
#include "core/system_model.h"
#include "core/tuning_parameters.h"

namespace mdh {

// Valid for every expression (Validate accepts it); takes microseconds.
TuningParameters DefaultParameters(const Expression& expression, const SystemModel& model,
                                   const DeviceDescription& device,
                                   NumericsPolicy numerics = NumericsPolicy::kReassociate);

}  // namespace mdh

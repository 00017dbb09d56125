// Configurations from rules for results by key (codegen/lower/keyed/keyed_program.h): where the
// search starts.
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// The same parameters with tables of keys, the likeliest first; none where results have no keys, so
// few that comparing costs less, or the device has no room for the table.
std::vector<TuningParameters> KeyedVariants(const Expression& expression, const SystemModel& model,
                                            const DeviceDescription& device,
                                            const TuningParameters& parameters);

}  // namespace mdh

// Translates tuning parameters from one system model to another, as from CUDA to OpenCL.
#pragma once

#include <optional>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"

namespace mdh {

// `parameters`, which are for model `from`, for model `to` and `device`: their tiles, orders,
// assignments and copies are the same. Means that the device lacks are left out: copies that run
// beside the computation become copies through registers with as many parts as those can have, the
// compiler is not told how many blocks shall be resident, launches are as usual, and blocks that
// combine their results themselves leave that to another stage. nullopt if the
// models differ in more than names: their layers, one by one, must have the same roles, as those of
// CUDA and OpenCL do. Whether the result is valid is what Validate says: limits may differ.
std::optional<TuningParameters> TranslateParameters(const TuningParameters& parameters,
                                                    const SystemModel& from, const SystemModel& to,
                                                    const DeviceDescription& device);

}  // namespace mdh

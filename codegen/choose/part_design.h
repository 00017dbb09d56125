// A design for one block of threads that computes a part of a pipeline alone.
#pragma once

#include <cstdint>
#include <optional>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Expects a model with explicit memory. All of the part by one block of so many threads, a power of
// two, or of fewer where there are not as many points: neighbours along what is contiguous, along
// reductions where the results of the part are too few, or lie apart from what is read in rows.
// Nothing is copied to shared memory: what parts have in common with the steps around them is
// there, or in caches. nullopt: the rules of designs do not say how, as of prefix sums, or such
// parameters are not valid.
std::optional<TuningParameters> DesignPart(const Expression& part, const SystemModel& model,
                                           const DeviceDescription& device, int64_t threads);

}  // namespace mdh

// Parameters from rules for a step of a joint group on one of its parts.
#pragma once

#include <cstdint>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/numerics.h"
#include "core/pipeline/plan/computed_pipeline.h"

namespace mdh {

// Of step number n of the group, for one core, or one block of so many threads. Copies that a
// thread of a CPU makes for several parts (codegen/backends/invariant_copies.h) cost their share of
// one: so rules pack what parts are too small for alone.
TuningParameters ParametersOfPart(const Pipeline& pipeline, const JointSteps& joint, size_t n,
                                  const SystemModel& model, const DeviceDescription& device,
                                  NumericsPolicy numerics, int64_t threads);

}  // namespace mdh

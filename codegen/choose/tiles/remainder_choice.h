// How the points that register tiles leave over at the end of a dimension are covered, by counting.
#pragma once

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Expects valid parameters. kVectors where fewer vectors, narrow ones included, cover the dimension
// with the lanes than with variants; else kVariants. Never kOverlap: a smaller tile has fewer
// instructions than the whole one, and waits no longer for what accumulates; that less code pays is
// what only measuring tells.
Remainder RemainderByCounting(const Expression& expression, const SystemModel& model,
                              const DeviceDescription& device, TuningParameters parameters);

}  // namespace mdh

// What rules choose around a register tile: tiles for caches and cores, orders, copies, stores.
#pragma once

#include <cstdint>

#include "codegen/choose/tiles/tile_choice.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// A configuration for a CPU with that register tile. `threads`: among which the computation is
// divided. It is not valid for every expression: Validate has to say.
TuningParameters ParametersOfTile(const Expression& expression, const SystemModel& model,
                                  const DeviceDescription& device, NumericsPolicy numerics,
                                  int64_t threads, const TileChoice& choice);

}  // namespace mdh

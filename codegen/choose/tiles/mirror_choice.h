// Whether configurations of register tiles compute results once that are equal, by counting.
#pragma once

#include "codegen/choose/tiles/tile_choice.h"

namespace mdh {

// ParametersOfTile, of half of the results where dimensions are exchangeable and that is expected
// to take less (TileEstimate): what is left out is more than storing the others twice.
TuningParameters BestParametersOfTile(const Expression& expression, const SystemModel& model,
                                      const DeviceDescription& device, NumericsPolicy numerics,
                                      int64_t threads, TileChoice choice);

}  // namespace mdh

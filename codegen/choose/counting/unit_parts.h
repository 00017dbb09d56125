// Parts of a contraction's k that blocks with a matrix unit share out (UnitParameters::parts).
#pragma once

#include <cstdint>
#include <vector>

#include "core/decomposition/unit_plan.h"
#include "core/device/device_description.h"

namespace mdh {

// So many parts, or as many fewer as have a stage each when all but the last have as many.
int WholeParts(const UnitPlan& plan, int64_t parts);

// Those that rules rank for tiles of rows x columns results: the usual ones, and as many as one,
// two or three rounds of blocks have room for.
std::vector<int> UnitPartsFor(const UnitPlan& plan, int rows, int columns,
                              const DeviceDescription& device);

}  // namespace mdh

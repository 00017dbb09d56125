// Register tiles on tile registers (DotUnit::kTiles): which are worth counting.
#pragma once

#include <vector>

#include "codegen/choose/tiles/tile_choice.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"

namespace mdh {

// Words along dimension d, cycles not counted; none where the device has no tile registers for
// them. Operands that are not read where they are are packed: always that with lanes, rows where
// neighbours along d are none, or beyond a boundary.
std::vector<TileChoice> ChoicesOnTiles(const Expression& expression,
                                       const DeviceDescription& device, int d);

// Of rows that tiles with lanes one after the other read, how many should stay in the second-level
// cache.
inline double RowBytesOfTiles(const DeviceDescription& device) {
  return 0.25 * static_cast<double>(device.l2_bytes);
}

// How an input that such a choice packs is copied: in strips along the lanes, or as rows with
// neighbours along the words; at `layer` if that can be, else at `cache_layer`.
InputParameters CopyForTiles(const Buffer& buffer, const TileChoice& choice, int layer,
                             int cache_layer);

}  // namespace mdh

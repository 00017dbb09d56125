// Instruction scheduling against register pressure: the order in which the points of a tile are
// computed.
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/lower/tiles/tile_shape.h"

namespace mdh {

// One point of a tile: numbers of a step of the reductions and of a point of the results.
struct TileVisit {
  size_t step;
  size_t point;
  bool operator==(const TileVisit&) const = default;
};

// Every pair of a step and a point once. Step by step as a rule; where steps read the same places
// of an input (the neighbours of a stencil or convolution) and results may be combined in any
// order, the order in which the fewest places that are needed again wait in registers at a time: it
// may take all points that read a place in turn.
std::vector<TileVisit> OrderOfTile(const LoopPlan& plan, const std::vector<TilePoint>& steps,
                                   const std::vector<TilePoint>& points);

}  // namespace mdh

// Blocks at the end of dimensions: parts that begin earlier instead of reaching beyond.
#pragma once

#include <vector>

#include "core/decomposition/nest_shape.h"

namespace mdh {

// The places of levels on blocks of which a part may begin at
//
//   min(part * tile, size - tile)
//
// instead of part * tile. All points of every part exist then, so that nothing inside needs guards
// and there is no second version of the code for the part at the end, in which loads would wait for
// each other behind branches. Points that two parts have are computed by both, from the same values
// in the same order, and stored twice, or added once, by the first of them: this is for dimensions
// that are kept. At most one level of a dimension, the outermost of those with several parts, in
// which parts are cut evenly (Validate); not where more than a quarter of the dimension would be
// computed twice, or where neighbours in memory could not be moved as wide any more.
std::vector<int> OverlappingParts(const NestShape& shape);

}  // namespace mdh

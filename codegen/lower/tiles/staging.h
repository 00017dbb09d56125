// Packing: copies the part of an input that a part of a layer needs into scratch memory, with a
// permuted layout (paper, tuning parameters D3 and D4; appendix F, buffer size reduction). Where
// the layout has other neighbours than the buffer, tiles are transposed in vector registers.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/lower/tiles/loop_plan.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// `ranges`: what the part covers in each MDA dimension. `shared`: all threads pack together, each
// its share of the outermost loop; otherwise one thread packs everything.
Block BuildPacking(const LoopPlan& plan, const StagedCopy& copy,
                   const std::vector<DimensionRange>& ranges, bool shared);

// Rows of the tiles in which a copy is transposed whose neighbours are none in the buffer; 1: it
// is made element by element. `most`: of the lanes that the computation has, and of the
// elements that the copy has in both dimensions, the fewest.
int64_t RowsOfTransposedTile(const Buffer& buffer, int64_t most);

}  // namespace mdh

// The register tile (paper: the innermost memory layer, registers and lanes) as one function:
// results of a small box of points live in named variables while the innermost reductions run.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/lower/tiles/loop_plan.h"
#include "codegen/lower/tiles/tile_inputs.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// A parameter of a tile function and what the caller must pass.
struct TileParameter {
  enum class Role {
    kInput,       // pointer of input `index`, in place
    kStaged,      // pointer of the staged copy of input `index`
    kOutput,      // pointer of output `index`, or of the array of result `index`
    kOrigin,      // first point of the tile in dimension `index`
    kRangeBegin,  // range of the inner reduction in dimension `index`
    kRangeEnd,
    kVariable,   // a loop variable of the caller, by its name
    kExcess,     // pointer of LoopPlan::excess_name
    kUncounted,  // flag: what belongs there is not
    kFinite,     // flag: factors of LoopPlan::outside_products are
    kFirst,      // flag: no partial results are in the outputs yet
    kLast,  // flag: results are final after this tile, and the store function makes outputs of them
  };
  Role role;
  int index = 0;
  Parameter parameter;
};

struct TileFunction {
  Function function;
  std::vector<TileParameter> parameters;
};

// `points[d]`: points of the tile in dimension d (of an inner reduction: ignored). `accumulates`:
// the caller runs reductions around the tile, so that results may have to be added to the targets.
// `place`: of a tile that is inside, all elements of buffers with a boundary are.
TileFunction BuildTileFunction(const LoopPlan& plan, const std::vector<int64_t>& points,
                               TilePlace place, bool accumulates);

// Whether the caller's range of inner reduction d is the whole dimension.
bool CoversWholeDimension(const LoopPlan& plan, int d);

}  // namespace mdh

#include "codegen/choose/tiles/mirror_choice.h"

#include <utility>

#include "codegen/choose/tiles/register_tile_rules.h"
#include "codegen/choose/tiles/tile_estimate.h"
#include "core/expression/dependences.h"

namespace mdh {

TuningParameters BestParametersOfTile(const Expression& expression, const SystemModel& model,
                                      const DeviceDescription& device, NumericsPolicy numerics,
                                      int64_t threads, TileChoice choice) {
  TuningParameters all = ParametersOfTile(expression, model, device, numerics, threads, choice);
  choice.mirrors = FirstExchangeablePair(expression);
  if (all.lowering != Lowering::kTiles || !choice.mirrors) return all;
  TuningParameters half = ParametersOfTile(expression, model, device, numerics, threads, choice);
  half.mirrors = true;
  if (!Validate(expression, model, device, half).ok()) return all;
  const TileEstimate estimate(expression, model, device, numerics);
  return estimate.Cycles(half) < estimate.Cycles(all) ? half : all;
}

}  // namespace mdh

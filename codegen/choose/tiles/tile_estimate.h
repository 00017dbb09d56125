// What the throughput model of CPUs expects of a whole configuration.
#pragma once

#include <optional>

#include "codegen/choose/tiles/tile_cost.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/dependences.h"

namespace mdh {

// Refers to its arguments. Estimates are for comparisons of configurations of one expression.
class TileEstimate {
 public:
  // `expression`: whose dimensions are fused as those of the parameters.
  TileEstimate(const Expression& expression, const SystemModel& model,
               const DeviceDescription& device, NumericsPolicy numerics);
  TileEstimate(const TileEstimate&) = delete;
  TileEstimate& operator=(const TileEstimate&) = delete;

  // Of the core that takes longest, by its register tiles, which they must have
  // (Lowering::kTiles), and by how points are divided among cores; of caches it knows what TileCost
  // does. At least 1.
  double Cycles(const TuningParameters& parameters) const;

 private:
  TileChoice ChoiceOf(const TuningParameters& parameters) const;
  bool HasShortParts(const TuningParameters& parameters) const;
  double Cores(const TuningParameters& parameters) const;
  double BusiestShare(const TuningParameters& parameters) const;
  bool Mirrors(const TuningParameters& parameters) const;
  double BusiestOfEqual(const TuningParameters& parameters) const;

  const Expression e_;  // CountedExpression
  const SystemModel& model_;
  const DeviceDescription& device_;
  int innermost_;
  const std::optional<ExchangeablePair> pair_;
  TileCost cost_;
};

}  // namespace mdh

#include "codegen/choose/tiles/tile_estimate.h"

#include <algorithm>
#include <cmath>

#include "codegen/choose/tiles/counted_expression.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"

namespace mdh {

TileEstimate::TileEstimate(const Expression& expression, const SystemModel& model,
                           const DeviceDescription& device, NumericsPolicy numerics)
    : e_(CountedExpression(expression, device)),
      model_(model),
      device_(device),
      innermost_(InnermostMemoryLayer(model)),
      cost_(e_, device, numerics) {}

double TileEstimate::Cycles(const TuningParameters& p) const {
  return std::max(1.0, cost_.Cycles(ChoiceOf(p)) * BusiestShare(p));
}

// The register tile, and how inputs are read in it.
TileChoice TileEstimate::ChoiceOf(const TuningParameters& p) const {
  TileChoice choice;
  choice.tile = p.tile[innermost_];
  if (const int v = LaneDimension(model_, p); v >= 0) {
    choice.vector_dimension = v;
    choice.lanes = p.tile[model_.LayerWith(LayerRole::kLanes) - 1][v];
  }
  choice.has_short_parts = HasShortParts(p);
  choice.independent_accumulators = p.independent_accumulators;
  choice.accumulates_in_output = p.accumulate_in == AccumulateIn::kOutput;
  const bool is_apart = p.inputs.size() < e_.inputs().size();
  for (const InputParameters& input :
       is_apart ? WithSeparateStrips(p, e_, model_).inputs : p.inputs) {
    choice.packed.push_back(input.stage_layer != InputParameters::kInPlace);
  }
  choice.dot = p.dot;
  choice.dot_unit = p.dot_unit;
  if (const std::optional<DotPlan> plan = DotOf(e_, p)) choice.group = plan->group;
  return choice;
}

// Whether the first-level cache has room for what a register tile reads in a part of the
// reductions.
bool TileEstimate::HasShortParts(const TuningParameters& p) const {
  std::vector<int64_t> part = p.tile[innermost_];
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) part[d] = p.tile[std::max(0, innermost_ - 1)][d];
  }
  const CacheParts parts(e_, device_);
  return parts.FootprintBytes(part, 1) <= parts.FirstCacheBytes();
}

// Of all points, what the core has that has most.
double TileEstimate::BusiestShare(const TuningParameters& p) const {
  double parts = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    parts *= static_cast<double>(CeilDivide(e_.dimensions()[d].size, p.tile[0][d]));
  }
  const int threads = p.threads == TuningParameters::kAllThreads
                          ? device_.cores
                          : std::min(p.threads, device_.cores);
  const auto cores = static_cast<double>(std::max(1, threads));
  return std::ceil(parts / cores) / parts;
}

}  // namespace mdh

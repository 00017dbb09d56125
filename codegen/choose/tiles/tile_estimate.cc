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
      pair_(FirstExchangeablePair(expression)),
      cost_(e_, device, numerics, pair_) {}

double TileEstimate::Cycles(const TuningParameters& p) const {
  constexpr double kBarrier = 3000;  // in front of the stage that stores results again
  const TileChoice choice = ChoiceOf(p);
  const double cycles = cost_.Cycles(choice);
  if (!choice.mirrors) return std::max(1.0, cycles * BusiestShare(p));
  const double again = cost_.StoringAgain();
  return (cycles - again) * BusiestOfMirrored(p) + again / Cores(p) + (Cores(p) > 1 ? kBarrier : 0);
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
  choice.mirrors = Mirrors(p);
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

double TileEstimate::Cores(const TuningParameters& p) const {
  const int threads = p.threads == TuningParameters::kAllThreads
                          ? device_.cores
                          : std::min(p.threads, device_.cores);
  return std::max(1, threads);
}

// Of all points, what the core has that has most.
double TileEstimate::BusiestShare(const TuningParameters& p) const {
  double parts = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    parts *= static_cast<double>(CeilDivide(e_.dimensions()[d].size, p.tile[0][d]));
  }
  return std::ceil(parts / Cores(p)) / parts;
}

// ---- Half of equal results ----

bool TileEstimate::Mirrors(const TuningParameters& p) const {
  if (!p.mirrors || !pair_) return false;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d) && p.tile[0][d] < e_.dimensions()[d].size) return false;
  }
  return true;
}

// Of the results that are computed, what the core has that has most: parts have the more the
// greater their numbers are, and are folded (Folded).
double TileEstimate::BusiestOfMirrored(const TuningParameters& p) const {
  constexpr double kManyParts = 4096;
  double of_pair = 1, all = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    const auto along = static_cast<double>(CeilDivide(e_.dimensions()[d].size, p.tile[0][d]));
    if (d == pair_->row || d == pair_->column) of_pair *= along;
    all *= along;
  }
  if (of_pair == 1 || all > kManyParts) return BusiestShare(p);
  const auto parts = static_cast<int64_t>(all);
  const auto cores = static_cast<int64_t>(Cores(p));
  int64_t most = 0;
  for (int64_t core = 0; core < cores; ++core) {
    int64_t own = 0;
    for (int64_t n = parts * core / cores; n < parts * (core + 1) / cores; ++n) {
      const int64_t part = n % 2 == 0 ? n / 2 : parts - 1 - n / 2;
      own += 2 * part + 1;
    }
    most = std::max(most, own);
  }
  return static_cast<double>(most) / static_cast<double>(parts * parts);
}

}  // namespace mdh

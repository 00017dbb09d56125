#include "codegen/choose/tiles/tile_estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "codegen/choose/tiles/counted_expression.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"

namespace mdh {
namespace {

// Of points with rows before `row` and columns before `column`, those on or below the diagonal.
double BelowDiagonal(double row, double column) {
  return row <= column ? row * row / 2 : column * (row - column / 2);
}

}  // namespace

TileEstimate::TileEstimate(const Expression& expression, const SystemModel& model,
                           const DeviceDescription& device, NumericsPolicy numerics)
    : e_(CountedExpression(expression, device)),
      model_(model),
      device_(device),
      innermost_(InnermostMemoryLayer(model)),
      pair_(FirstExchangeablePair(expression)),
      cost_(e_, device, numerics) {}

double TileEstimate::Cycles(const TuningParameters& p) const {
  constexpr double kBarrier = 3000;  // in front of the stage that stores results again
  const TileChoice choice = ChoiceOf(p);
  const double cycles = cost_.Cycles(choice);
  const double share = pair_ ? BusiestOfEqual(p) : BusiestShare(p);
  if (!choice.mirrors) return std::max(1.0, cycles * share);
  const double again = cost_.StoringAgain(*choice.mirrors);
  return (cycles - again) * share + again / Cores(p) + (Cores(p) > 1 ? kBarrier : 0);
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
  if (Mirrors(p)) choice.mirrors = pair_;
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

// The same where results are equal, by how many of a part are computed. Parts of one side of the
// diagonal are folded (Folded).
double TileEstimate::BusiestOfEqual(const TuningParameters& p) const {
  constexpr int64_t kManyParts = 4096;
  std::vector<int64_t> along;
  int64_t parts = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    along.push_back(CeilDivide(e_.dimensions()[d].size, p.tile[0][d]));
    parts = MultiplyOrLargest(parts, along.back());
  }
  if (along[pair_->row] * along[pair_->column] == 1 || parts > kManyParts) return BusiestShare(p);
  // Where part number n begins and ends in dimension d.
  const auto range = [&](int64_t n, int d) {
    for (int inner = d + 1; inner < e_.rank(); ++inner) n /= along[inner];
    const int64_t begin = n % along[d] * p.tile[0][d];
    const int64_t points = std::min(p.tile[0][d], e_.dimensions()[d].size - begin);
    return std::pair(static_cast<double>(begin), static_cast<double>(begin + points));
  };
  const bool mirrors = Mirrors(p);
  const auto cores = static_cast<int64_t>(Cores(p));
  double most = 0, all = 0;
  for (int64_t core = 0; core < cores; ++core) {
    double own = 0;
    for (int64_t n = parts * core / cores; n < parts * (core + 1) / cores; ++n) {
      const int64_t folded = n % 2 == 0 ? n / 2 : parts - 1 - n / 2;
      const auto [top, bottom] = range(mirrors ? folded : n, pair_->row);
      const auto [left, right] = range(mirrors ? folded : n, pair_->column);
      own += mirrors ? BelowDiagonal(bottom, right) - BelowDiagonal(bottom, left) -
                           BelowDiagonal(top, right) + BelowDiagonal(top, left)
                     : (bottom - top) * (right - left);
    }
    most = std::max(most, own);
    all += own;
  }
  return most / all;
}

}  // namespace mdh

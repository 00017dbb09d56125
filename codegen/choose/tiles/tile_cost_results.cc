// What results of tiles take of their cycles: chains and lanes that are combined, and stores.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "codegen/choose/tiles/tile_cost.h"
#include "codegen/lower/tiles/combine_lanes.h"
#include "codegen/program/shuffled_stride.h"

namespace mdh {
namespace {

constexpr double kScatterPerLane = 1.6;
constexpr double kFewRows = 4, kFarRowCycles = 2;    // rows of results on other pages
constexpr double kLaneInL2 = 6, kLaneInMemory = 40;  // of rows that push each other out of caches
constexpr double kPartOfReductions = 512;
constexpr double kMaskedStore = 1.5;  // with its shuffle
constexpr double kLaneCycles = 1.5;   // of combining vectors whose lanes must be moved

}  // namespace

// Equally far from one to the next, in every output.
TileCost::Run TileCost::RunOfResults(const TileChoice& choice) const {
  Run run{std::numeric_limits<int64_t>::max(), true};
  for (const Output& output : outputs_) {
    std::vector<std::pair<int64_t, int64_t>> rows;  // strides and how many
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.is_reduction(d) || choice.tile[d] == 1) continue;
      rows.emplace_back(std::abs(output.strides[d]), choice.tile[d]);
    }
    std::ranges::sort(rows);
    int64_t results = 1;
    for (const auto& [stride, count] : rows) {
      if (stride != rows[0].first * results) break;
      results *= count;
    }
    run.results = std::min(run.results, results);
    run.has_neighbours &= rows.empty() || rows[0].first == 1;
  }
  return run;
}

// Of combining the independent accumulators of each result of a tile.
double TileCost::ChainCycles(const TileChoice& choice, double results) const {
  if (!choice.independent_accumulators) return 0;
  double chains = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) chains *= Pieces(choice, d, choice.tile[d]);
  }
  return results * (chains - 1) * combine_operations_ / kArithmeticPerCycle;
}

// Of combining the lanes of all results of a tile, and of storing them.
double TileCost::LaneCycles(const TileChoice& choice, double results) const {
  const Run run = RunOfResults(choice);
  const auto combinations = static_cast<double>(LaneCombinations(run.results, choice.lanes));
  const auto vectors = static_cast<double>(LaneRuns(run.results, choice.lanes).size());
  const auto of_run = static_cast<double>(run.results);
  const double stores = run.has_neighbours ? vectors : kScatterPerLane * of_run;
  const double each = kLaneCycles + (combine_operations_ - 1) / kArithmeticPerCycle;
  return results / of_run * (each * combinations + stores);
}

// Beyond the store of neighbours, in each part of the reductions, which takes up what the last one
// left. Rows that share sets of a cache push each other out before their next results come.
double TileCost::ScatterCost(int64_t stride, const TileChoice& choice) const {
  if (stride == 1) return 0;
  const int64_t lanes = choice.lanes, rows = choice.tile[choice.vector_dimension];
  const bool share_sets = stride != 0 && stride * 4 % kPageBytes == 0;
  if (share_sets && rows * kPageBytes > device_.l1_bytes) {
    double points = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.is_reduction(d)) points *= static_cast<double>(e_.dimensions()[d].size);
    }
    const double each = 2 * rows > LinesKept(stride * 4) ? kLaneInMemory : kLaneInL2;
    return each * static_cast<double>(lanes) * std::max(1.0, points / kPartOfReductions);
  }
  if (IsShuffledStride(stride, lanes) && (device_.simd_bytes >= kMaskedBytes || stride == -1))
    return kMaskedStore * static_cast<double>(std::abs(stride));
  const double parts = std::max(PartsOfReductions(choice), parts_.PartsOfFollowedRows(choice));
  return (kScatterPerLane * parts + kGatherPerLane * (parts - 1)) * static_cast<double>(lanes);
}

double TileCost::StoreCycles(const TileChoice& choice) const {
  double results = 1;
  const int v = choice.vector_dimension;
  const bool is_reduced = v >= 0 && e_.is_reduction(v);
  for (int d = 0; d < e_.rank(); ++d) {
    if (!e_.is_reduction(d)) results *= Pieces(choice, d, choice.tile[d]);
  }
  const double rows = FarRows(choice) * kFarRowCycles;
  const double chains = ChainCycles(choice, results);
  if (is_reduced)
    return PartsOfReductions(choice) * (kTileCycles + chains + LaneCycles(choice, results) + rows);
  double each = 1;
  if (v >= 0) {
    for (const Output& output : outputs_) each += ScatterCost(output.strides[v], choice);
  }
  return kTileCycles + chains + results * each + rows;
}

// Rows of results on pages of their own, more than a few. Stencils without a reduction read what
// they write.
double TileCost::FarRows(const TileChoice& choice) const {
  double most = 0;
  if (!e_.has_reduction()) return most;
  for (const Output& output : outputs_) {
    double rows = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      const bool is_far = std::abs(output.strides[d]) * 4 >= kPageBytes;
      if (is_far && d != choice.vector_dimension) rows *= static_cast<double>(choice.tile[d]);
    }
    most = std::max(most, rows - kFewRows);
  }
  return most;
}

}  // namespace mdh

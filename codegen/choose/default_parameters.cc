#include "codegen/choose/default_parameters.h"

#include <algorithm>
#include <iterator>

#include "codegen/choose/default_block_parameters.h"
#include "codegen/choose/fusion_choice.h"
#include "codegen/choose/keyed_variants.h"
#include "codegen/choose/tiles/mirror_choice.h"
#include "codegen/choose/tiles/remainder_choice.h"
#include "codegen/choose/tiles/tile_choice.h"
#include "codegen/choose/unit_variants.h"
#include "core/decomposition/constraints.h"
#include "core/expression/dependences.h"
#include "core/expression/one_point.h"

namespace mdh {
namespace {

// Fused dimensions promise as much more, or are left to measuring: counts err by a tenth or two.
constexpr double kFusedMargin = 1.25;

// Nanoseconds that a parallel region costs: threads begin, and wait for the last one at its end.
constexpr double kRegion = 1000, kRegionPerThread = 100;
constexpr double kUsualClock = 3e9;  // where it is not known
constexpr double kNearRegion = 8;    // times its cost: too near to tell by counting

// Of a call with so many threads in equal parts.
double TimeWithThreads(double cycles, int64_t threads, const DeviceDescription& device) {
  const double alone = cycles / (device.clock_hz > 0 ? device.clock_hz : kUsualClock) * 1e9;
  if (threads == 1) return alone;
  const auto count = static_cast<double>(threads);
  return alone / count + kRegion + kRegionPerThread * count;
}

// All threads, or a power of two of them where more of them cost more than they save.
int64_t ThreadsByCounting(double cycles, const DeviceDescription& device) {
  const auto time = [&](int64_t threads) { return TimeWithThreads(cycles, threads, device); };
  int64_t best = device.cores;
  for (int64_t threads = 1; threads < device.cores; threads *= 2) {
    if (time(threads) < time(best)) best = threads;
  }
  return best;
}

// One part, no lanes, no unrolling: valid for everything.
TuningParameters PlainParameters(const Expression& e, const SystemModel& m,
                                 const DeviceDescription& device, NumericsPolicy numerics) {
  TuningParameters p = SinglePoints(e, m, numerics);
  if (device.kind == DeviceKind::kCpu) p.compiler = CompilersOf(device).front();
  for (int l = 0; l < InnermostMemoryLayer(m); ++l) {
    for (int d = 0; d < e.rank(); ++d) p.tile[l][d] = OrderedPart(e, numerics, d);
  }
  bool has_parts = false;
  for (int d = 0; d < e.rank(); ++d) has_parts |= p.tile[0][d] < e.dimensions()[d].size;
  if (!has_parts && m.memory == MemoryKind::kCaches) p.threads = 1;
  return p;
}

struct FusedTile {
  const FusionChoice* fusion;
  TileChoice tile;
};

// Those of all fusions, the best first, then the best of every other fusion, as measuring tells
// more about them than counting, then the rest.
std::vector<FusedTile> RankTilesOf(const std::vector<FusionChoice>& fusions,
                                   const SystemModel& model, const DeviceDescription& device,
                                   NumericsPolicy numerics, size_t most,
                                   absl::Span<const int64_t> runs) {
  std::vector<FusedTile> first, others;
  for (const FusionChoice& fusion : fusions) {
    std::vector<TileChoice> tiles =
        RankTiles(fusion.expression, model, device, numerics, most, runs);
    for (size_t n = 0; n < tiles.size(); ++n) {
      (n == 0 ? first : others).push_back({&fusion, std::move(tiles[n])});
    }
  }
  const auto cycles = [](const FusedTile& tile) {
    return tile.tile.cycles * (tile.fusion->fused.empty() ? 1 : kFusedMargin);
  };
  const auto is_better = [&](const FusedTile& a, const FusedTile& b) {
    return cycles(a) < cycles(b);
  };
  std::ranges::stable_sort(first, is_better);
  std::ranges::stable_sort(others, is_better);
  std::move(others.begin(), others.end(), std::back_inserter(first));
  return first;
}

// Whether results that are more than a core's caches hold can pass them. Such writes may be faster
// even where the last cache has room for all: lines need not come before they are written.
bool MayStream(const Expression& e, const SystemModel& model, const DeviceDescription& device,
               TuningParameters p) {
  int64_t bytes = 0;
  for (const Buffer& buffer : e.outputs()) bytes += buffer.size_bytes();
  p.fused.clear();
  p.streams_results = true;
  return bytes > device.l2_bytes && StoresRows(e, model, p) && Validate(e, model, device, p).ok();
}

// The same with the other compilers, with results that stay in caches, or pass them, and with all
// or half of those that are equal. `e`: with the dimensions fused that the parameters fuse.
std::vector<TuningParameters> Variants(const Expression& e, const SystemModel& model,
                                       const TuningParameters& p, const DeviceDescription& device) {
  std::vector<TuningParameters> variants;
  const std::vector<Compiler> compilers = CompilersOf(device);
  for (size_t other = 1; other < compilers.size(); ++other) {
    variants.push_back(p);
    variants.back().compiler = compilers[other];
  }
  if (p.streams_results || MayStream(e, model, device, p)) {
    variants.push_back(p);
    variants.back().streams_results = !p.streams_results;
  }
  if (p.lowering == Lowering::kTiles && FirstExchangeablePair(e)) {
    variants.push_back(p);
    variants.back().mirrors = !p.mirrors;
  }
  return variants;
}

// Threads that compute themselves.
TuningParameters WithoutUnit(TuningParameters p) {
  p.unit = {};
  p.swizzle = 1;
  return p;
}

}  // namespace

std::vector<TuningParameters> StartingParameters(const Expression& expression,
                                                 const SystemModel& model,
                                                 const DeviceDescription& device,
                                                 NumericsPolicy asked, size_t most,
                                                 absl::Span<const int64_t> runs) {
  const NumericsPolicy numerics = PolicyFor(expression, asked);
  if (model.memory == MemoryKind::kExplicit) {
    std::vector<TuningParameters> starts = {
        DefaultBlockParameters(expression, model, device, numerics)};
    for (TuningParameters& variant : ScanVariants(expression, model, device, starts.front())) {
      if (starts.size() < most) starts.push_back(std::move(variant));
    }
    for (TuningParameters& variant :
         UnitVariants(expression, model, device, starts.front(), most)) {
      if (starts.size() >= most || variant == starts.front()) continue;
      starts.push_back(std::move(variant));
    }
    for (TuningParameters& variant : KeyedVariants(expression, model, device, starts.front())) {
      if (starts.size() >= most || variant == starts.front()) continue;
      starts.push_back(std::move(variant));
    }
    // Behind all with units: compilers need seconds for what is unrolled in so many dimensions.
    if (starts.front().unit.rows > 0) {
      if (starts.size() > 1 && starts.size() >= most) starts.pop_back();
      starts.push_back(WithoutUnit(starts.front()));
    }
    return starts;
  }
  const std::vector<FusionChoice> fusions = FusionChoices(expression, model, numerics);
  std::vector<TuningParameters> starts;
  const auto add = [&](const FusedTile& choice, int64_t threads) {
    const Expression& fused = choice.fusion->expression;
    TuningParameters p = BestParametersOfTile(fused, model, device, numerics, threads, choice.tile);
    if (!Validate(fused, model, device, p).ok()) return;
    p.remainder = RemainderByCounting(fused, model, device, p);
    p.fused = choice.fusion->fused;
    p.compiler = CompilersOf(device).front();
    if (std::ranges::find(starts, p) == starts.end()) starts.push_back(std::move(p));
  };
  for (const FusedTile& choice : RankTilesOf(fusions, model, device, numerics, most, runs)) {
    if (starts.size() >= most) break;
    const double cycles = choice.tile.cycles;
    const int64_t threads = ThreadsByCounting(cycles, device);
    const bool is_first = starts.empty();
    add(choice, threads);
    if (!is_first || starts.empty()) continue;
    // What counting cannot tell is tried with the best.
    for (TuningParameters& variant :
         Variants(choice.fusion->expression, model, starts[0], device)) {
      starts.push_back(std::move(variant));
    }
    const double alone = TimeWithThreads(cycles, 1, device);
    const double region = kRegion + kRegionPerThread * device.cores;
    if (alone > kNearRegion * region || alone * kNearRegion < region) continue;
    add(choice, threads == 1 ? device.cores : 1);
  }
  if (starts.empty()) starts.push_back(PlainParameters(expression, model, device, numerics));
  if (starts.size() > most) starts.resize(most);
  return starts;
}

TuningParameters DefaultParameters(const Expression& expression, const SystemModel& model,
                                   const DeviceDescription& device, NumericsPolicy numerics,
                                   absl::Span<const int64_t> runs) {
  if (expression.is_empty()) {
    return PlainParameters(WithOnePoint(expression), model, device, numerics);
  }
  return StartingParameters(expression, model, device, numerics, /*most=*/3, runs).front();
}

}  // namespace mdh

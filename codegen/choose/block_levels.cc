#include "codegen/choose/block_levels.h"

#include <algorithm>
#include <utility>

#include "core/base/round.h"

namespace mdh {

namespace {

// Blocks along axes of the grid but the first one.
constexpr int64_t kMostAlongOthers = 65535;

// The first memory layer from there inwards.
int LoopLayer(const SystemModel& model, int layer) {
  const int last = static_cast<int>(model.layers.size()) - 1;
  while (layer < last && model.layers[layer].memory_region.empty()) ++layer;
  return layer;
}

}  // namespace

BlockLevels::BlockLevels(const Expression& e, const SystemModel& m, NumericsPolicy numerics)
    : expression(e),
      model(m),
      layers(static_cast<int>(m.layers.size())),
      blocks(m.LayerWith(LayerRole::kCores)),
      warps(m.LayerWith(LayerRole::kWarps)),
      threads(m.LayerWith(LayerRole::kThreads)),
      outer(LoopLayer(m, blocks)),
      inner(LoopLayer(m, warps >= 0 ? warps : threads)),
      registers(m.num_memory_layers() - 1),
      shared(registers - 1) {
  parameters.system_model = m.name;
  parameters.numerics = numerics;
  parameters.tile.assign(layers, std::vector<int64_t>(e.rank(), 1));
}

int64_t BlockLevels::Cut(int d, std::initializer_list<LayerParts> parts) {
  int64_t extent = 1;
  for (int l = layers - 1; l > blocks; --l) {
    parameters.tile[l][d] = extent;
    for (const LayerParts& on : parts) {
      if (on.layer == l) extent = std::min(size(d), MultiplyOrLargest(extent, on.parts));
    }
  }
  return extent;
}

void BlockLevels::CutBlocks(int d, int64_t points) {
  for (int l = blocks; l >= 0; --l) parameters.tile[l][d] = l == blocks ? points : size(d);
}

int64_t BlockLevels::ShareOf(int d, int64_t count, int64_t inside) const {
  return std::min(size(d), RoundUp(CeilDivide(size(d), count), inside));
}

void BlockLevels::Add(int layer, absl::FunctionRef<bool(int d)> has) {
  for (int d = 0; d < expression.rank(); ++d) {
    if (has(d)) parameters.phase.order.push_back({layer, d});
  }
}

void BlockLevels::Assign(const std::vector<int>& inside, std::vector<int> grid, bool in_order) {
  const auto parts = [&](int d) { return CeilDivide(size(d), parameters.tile[blocks][d]); };
  const auto fits = [&](int d) { return parts(d) <= kMostAlongOthers; };
  if (!in_order || !std::all_of(grid.begin() + 1, grid.end(), fits)) {
    std::ranges::stable_sort(grid, [&](int a, int b) { return parts(a) > parts(b); });
  }
  LevelTable<AsmLevel>& assignment = parameters.phase.assignment;
  assignment.assign(layers, std::vector<AsmLevel>(expression.rank()));
  for (int l = 0; l < layers; ++l) {
    const std::vector<int>& order = l == blocks ? grid : inside;
    for (int n = 0; n < expression.rank(); ++n) assignment[l][order[n]] = {l, n};
  }
}

void BlockLevels::SetResults(absl::FunctionRef<bool(int d)> shuffles,
                             absl::FunctionRef<bool(int d)> stores) {
  LevelTable<int> regions(layers, std::vector<int>(expression.rank(), registers));
  for (int l = 0; l < layers; ++l) {
    for (int d = 0; d < expression.rank(); ++d) {
      if (l == threads || l == warps) {
        regions[l][d] = shuffles(d) ? registers : shared;
      } else if (model.layers[l].memory_region.empty() || (l == outer && stores(d))) {
        regions[l][d] = 0;
      }
    }
  }
  parameters.outputs.assign(expression.outputs().size(), {std::move(regions), {}});
}

LevelTable<int> BlockLevels::RegionsFrom(int place, int region) const {
  LevelTable<int> regions(layers, std::vector<int>(expression.rank(), 0));
  const std::vector<MdhLevel>& order = parameters.phase.order;
  for (size_t n = static_cast<size_t>(place); n < order.size(); ++n) {
    regions[order[n].layer][order[n].dimension] = region;
  }
  return regions;
}

}  // namespace mdh

#include "codegen/choose/block_levels.h"

#include <algorithm>
#include <utility>

#include "core/base/round.h"

namespace mdh {

BlockLevels::BlockLevels(const Expression& expression, const SystemModel& model,
                         NumericsPolicy numerics)
    : expression_(expression),
      model_(model),
      layers_(static_cast<int>(model.layers.size())),
      blocks_(model.LayerWith(LayerRole::kCores)),
      warps_(model.LayerWith(LayerRole::kWarps)),
      threads_(model.LayerWith(LayerRole::kThreads)),
      outer_(LoopLayer(blocks_)),
      inner_(LoopLayer(warps_ >= 0 ? warps_ : threads_)),
      registers_(static_cast<int>(model.memory_regions().size()) - 1) {
  parameters_.system_model = model.name;
  parameters_.numerics = numerics;
  parameters_.tile.assign(layers_, std::vector<int64_t>(expression.rank(), 1));
}

int BlockLevels::LoopLayer(int layer) const {
  while (layer + 1 < layers_ && model_.layers[layer].memory_region.empty()) ++layer;
  return layer;
}

int64_t BlockLevels::Cut(int d, std::initializer_list<LayerParts> parts) {
  int64_t extent = 1;
  for (int l = layers_ - 1; l > blocks_; --l) {
    parameters_.tile[l][d] = extent;
    for (const LayerParts& on : parts) {
      if (on.layer == l) extent = std::min(size(d), MultiplyOrLargest(extent, on.parts));
    }
  }
  return extent;
}

void BlockLevels::CutBlocks(int d, int64_t points) {
  for (int l = blocks_; l >= 0; --l) parameters_.tile[l][d] = l == blocks_ ? points : size(d);
}

int64_t BlockLevels::ShareOf(int d, int64_t blocks, int64_t inside) const {
  return std::min(size(d), RoundUp(CeilDivide(size(d), blocks), inside));
}

void BlockLevels::Add(int layer, absl::FunctionRef<bool(int d)> has) {
  for (int d = 0; d < expression_.rank(); ++d) {
    if (has(d)) parameters_.phase.order.push_back({layer, d});
  }
}

void BlockLevels::Assign(const std::vector<int>& inside, std::vector<int> grid) {
  const auto blocks = [&](int d) { return CeilDivide(size(d), parameters_.tile[blocks_][d]); };
  std::stable_sort(grid.begin(), grid.end(), [&](int a, int b) { return blocks(a) > blocks(b); });
  LevelTable<AsmLevel>& assignment = parameters_.phase.assignment;
  assignment.assign(layers_, std::vector<AsmLevel>(expression_.rank()));
  for (int l = 0; l < layers_; ++l) {
    const std::vector<int>& order = l == blocks_ ? grid : inside;
    for (int n = 0; n < expression_.rank(); ++n) assignment[l][order[n]] = {l, n};
  }
}

void BlockLevels::SetResults(absl::FunctionRef<bool(int d)> shuffles,
                             absl::FunctionRef<bool(int d)> stores) {
  LevelTable<int> regions(layers_, std::vector<int>(expression_.rank(), registers_));
  for (int l = 0; l < layers_; ++l) {
    for (int d = 0; d < expression_.rank(); ++d) {
      if (l == threads_ || l == warps_) {
        regions[l][d] = shuffles(d) ? registers_ : shared();
      } else if (model_.layers[l].memory_region.empty() || (l == outer_ && stores(d))) {
        regions[l][d] = 0;
      }
    }
  }
  parameters_.outputs.assign(expression_.outputs().size(), {std::move(regions), {}});
}

LevelTable<int> BlockLevels::RegionsFrom(int place, int region) const {
  LevelTable<int> regions(layers_, std::vector<int>(expression_.rank(), 0));
  const std::vector<MdhLevel>& order = parameters_.phase.order;
  for (size_t n = static_cast<size_t>(place); n < order.size(); ++n) {
    regions[order[n].layer][order[n].dimension] = region;
  }
  return regions;
}

}  // namespace mdh

#include "tuner/measure/plain_kernel.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "codegen/generate_kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/system_model.h"

namespace mdh {
namespace {

constexpr int64_t kMostBlockThreads = 128;  // of a block, at most

// Points of a block along every dimension: threads go to the last dimensions of the result first,
// which memory is mostly contiguous in.
std::vector<int64_t> BlockExtents(const Expression& expression, const DeviceDescription& device) {
  std::vector<int64_t> extents;
  for (const Dimension& dimension : expression.dimensions()) extents.push_back(dimension.size);
  int64_t left = std::min<int64_t>(kMostBlockThreads, device.blocks.max_threads_per_block);
  for (int d = expression.rank() - 1; d >= 0; --d) {
    if (!expression.combine_operators()[d].is_concat()) continue;
    extents[d] = std::min(extents[d], left);
    left /= extents[d];
  }
  return extents;
}

// The last dimensions of the result along a block's x and y, and those with most blocks along the
// grid's: what goes beyond is folded into z, of which devices have little.
LevelTable<AsmLevel> Assignment(const Expression& expression,
                                const std::vector<std::vector<int64_t>>& tile, int threads) {
  const auto rank = static_cast<size_t>(expression.rank());
  const auto parts = [&](int layer, int d) {
    const int64_t outer =
        layer == 0 ? expression.dimensions()[d].size : tile[static_cast<size_t>(layer) - 1][d];
    return (outer + tile[layer][d] - 1) / tile[layer][d];
  };
  LevelTable<AsmLevel> assignment;
  for (int layer = 0; layer < static_cast<int>(tile.size()); ++layer) {
    std::vector<int> order(rank);
    std::iota(order.rbegin(), order.rend(), 0);
    if (layer != threads) {
      std::ranges::stable_sort(order,
                               [&](int a, int b) { return parts(layer, a) > parts(layer, b); });
    } else {
      std::stable_partition(order.begin(), order.end(), [&](int d) { return parts(layer, d) > 1; });
    }
    std::vector<AsmLevel>& row = assignment.emplace_back(rank);
    for (size_t n = 0; n < rank; ++n) row[order[n]] = {layer, static_cast<int>(n)};
  }
  return assignment;
}

}  // namespace

Result<TuningParameters> PlainParameters(const Expression& expression,
                                         const DeviceDescription& device, NumericsPolicy numerics) {
  const SystemModel model = TuningModel(device.kind);
  const auto rank = static_cast<size_t>(expression.rank());
  const std::vector<int64_t> block = BlockExtents(expression, device);
  TuningParameters parameters;
  parameters.system_model = model.name;
  parameters.numerics = numerics;
  parameters.unroll = 1;
  parameters.phase.order = NestedOrder(model.layers.size(), expression.rank());
  const int threads = model.LayerWith(LayerRole::kThreads);
  for (int layer = 0; layer < static_cast<int>(model.layers.size()); ++layer) {
    std::vector<int64_t>& extents = parameters.tile.emplace_back(block);
    for (size_t d = 0; d < rank; ++d) {
      const bool is_split =
          expression.combine_operators()[d].is_concat() ? layer >= threads : layer > threads;
      if (is_split) extents[d] = 1;
    }
  }
  parameters.phase.assignment = Assignment(expression, parameters.tile, threads);
  parameters.inputs.assign(expression.inputs().size(), InputParameters{});
  MDH_RETURN_IF_ERROR(Validate(expression, model, device, parameters));
  return parameters;
}

Result<Kernel> GeneratePlainKernel(const Expression& expression, const DeviceDescription& device,
                                   NumericsPolicy numerics) {
  const SystemModel model = TuningModel(device.kind);
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                       PlainParameters(expression, device, numerics));
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                       Lower(expression, model, device, parameters));
  return GenerateKernel(low_level, device);
}

}  // namespace mdh

// Orders of MDH levels, and phases.
#include "core/decomposition/tuning_parameters.h"

#include <numeric>

#include "absl/strings/match.h"

namespace mdh {

std::vector<Compiler> CompilersOf(const DeviceDescription& device) {
  std::vector<Compiler> compilers;
  const bool has_clang = absl::StrContains(device.compiler, "clang");
  if (absl::StrContains(device.compiler, "gcc") || !has_clang) compilers.push_back(Compiler::kGcc);
  if (has_clang) compilers.push_back(Compiler::kClang);
  return compilers;
}

Lowering UsualLowering(const TuningParameters& p) {
  const bool has_tables = !p.phase.assignment.empty() || p.scalar_phase || p.recomposition_phase ||
                          !p.outputs.empty() || !p.scalar_inputs.empty() ||
                          !p.scalar_outputs.empty();
  if (has_tables || !IsNested(p.phase)) return Lowering::kLevels;
  for (const InputParameters& input : p.inputs) {
    if (!(input.memory == MemoryParameters())) return Lowering::kLevels;
  }
  const SystemModel* const model = FindSystemModel(p.system_model);
  const bool has_caches = model != nullptr && model->memory == MemoryKind::kCaches;
  return has_caches ? Lowering::kTiles : Lowering::kLevels;
}

std::vector<MdhLevel> NestedOrder(const std::vector<std::vector<int>>& orders) {
  std::vector<MdhLevel> levels;
  for (size_t l = 0; l < orders.size(); ++l) {
    for (const int d : orders[l]) levels.push_back({static_cast<int>(l), d});
  }
  return levels;
}

std::vector<MdhLevel> NestedOrder(size_t layers, int rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return NestedOrder(std::vector(layers, order));
}

std::vector<int> RowMajor(const Buffer& buffer) {
  std::vector<int> layout(buffer.extents.size());
  std::iota(layout.begin(), layout.end(), 0);
  return layout;
}

InputParameters ReadInPlace(const Buffer& buffer) { return {.layout = RowMajor(buffer)}; }

std::vector<int> OrderOfLayer(const PhaseParameters& phase, int layer) {
  std::vector<int> order;
  for (const MdhLevel& level : phase.order) {
    if (level.layer == layer) order.push_back(level.dimension);
  }
  return order;
}

void SetOrderOfLayer(PhaseParameters& phase, int layer, const std::vector<int>& order) {
  size_t next = 0;
  for (MdhLevel& level : phase.order) {
    if (level.layer == layer) level.dimension = order[next++];
  }
}

bool IsNested(const PhaseParameters& phase) {
  int layer = 0;
  for (const MdhLevel& level : phase.order) {
    if (level.layer < layer) return false;
    layer = level.layer;
  }
  return true;
}

bool HasFusedPhases(const TuningParameters& p) {
  return (!p.scalar_phase || *p.scalar_phase == p.phase) &&
         (!p.recomposition_phase || *p.recomposition_phase == p.phase);
}

TuningParameters SinglePoints(const Expression& expression, const SystemModel& model,
                              NumericsPolicy numerics) {
  TuningParameters p;
  p.system_model = model.name;
  p.lowering = model.memory == MemoryKind::kCaches ? Lowering::kTiles : Lowering::kLevels;
  p.numerics = numerics;
  p.tile.assign(model.layers.size(), std::vector<int64_t>(expression.rank(), 1));
  p.phase.order = NestedOrder(model.layers.size(), expression.rank());
  for (const Buffer& buffer : expression.inputs()) p.inputs.push_back(ReadInPlace(buffer));
  return p;
}

}  // namespace mdh

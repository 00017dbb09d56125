// Orders of MDH levels, and phases.
#include "core/decomposition/tuning_parameters.h"

namespace mdh {

std::vector<MdhLevel> NestedOrder(const std::vector<std::vector<int>>& orders) {
  std::vector<MdhLevel> levels;
  for (size_t l = 0; l < orders.size(); ++l) {
    for (const int d : orders[l]) levels.push_back({static_cast<int>(l), d});
  }
  return levels;
}

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
  return p.scalar_phase.value_or(p.phase) == p.phase &&
         p.recomposition_phase.value_or(p.phase) == p.phase;
}

}  // namespace mdh

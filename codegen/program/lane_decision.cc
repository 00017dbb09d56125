#include "codegen/program/lane_decision.h"

#include <algorithm>
#include <vector>

namespace mdh {

bool DecidesLanes(const Expression& expression, const SystemModel& model, NumericsPolicy numerics) {
  if (model.LayerWith(LayerRole::kLanes) <= 0) return false;
  bool may_have_lanes = false;
  for (int d = 0; d < expression.rank(); ++d) {
    const bool is_free = Reassociates(numerics) || !expression.is_reduction(d);
    may_have_lanes = may_have_lanes || (expression.dimensions()[d].size > 1 && is_free);
  }
  const ScalarFunction& f = expression.function();
  const auto is_real = [](const auto& typed) { return IsFloatingPoint(typed.type); };
  return may_have_lanes && (std::ranges::any_of(f.instructions(), is_real) ||
                            std::ranges::any_of(f.parameters(), is_real));
}

bool HasScalarTiles(const Expression& expression, const SystemModel& model,
                    const TuningParameters& parameters) {
  if (parameters.lowering != Lowering::kTiles || parameters.dot != 0) return false;
  if (!DecidesLanes(expression, model, parameters.numerics)) return false;
  const std::vector<int64_t>& lanes = parameters.tile[model.LayerWith(LayerRole::kLanes) - 1];
  return std::ranges::all_of(lanes, [](int64_t count) { return count == 1; });
}

}  // namespace mdh

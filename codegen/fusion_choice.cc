#include "codegen/fusion_choice.h"

#include <utility>

#include "core/fuse_dimensions.h"

namespace mdh {

std::vector<FusionChoice> FusionChoices(const Expression& expression, const SystemModel& model,
                                        NumericsPolicy numerics) {
  std::vector<FusionChoice> choices;
  for (const bool plain : {true, false}) {
    FusedDimensions groups;
    if (model.memory == MemoryKind::kCaches) {
      const bool reductions = numerics == NumericsPolicy::kReassociate;
      groups = ContiguousDimensions(expression, plain, reductions);
    }
    if (!choices.empty() && choices.front().fused == groups) continue;
    Result<Expression> fused = FuseDimensions(expression, groups);
    if (fused.ok()) choices.push_back({std::move(groups), *std::move(fused)});
  }
  if (choices.empty()) choices.push_back({{}, expression});
  return choices;
}

}  // namespace mdh

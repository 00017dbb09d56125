#include "codegen/choose/fusion_choice.h"

#include <utility>

#include "core/decomposition/fuse_dimensions.h"

namespace mdh {

std::vector<FusionChoice> FusionChoices(const Expression& expression, const SystemModel& model,
                                        NumericsPolicy numerics) {
  std::vector<FusionChoice> choices = {{{}, expression}};
  if (model.memory != MemoryKind::kCaches) return choices;
  const bool reductions = Reassociates(PolicyFor(expression, numerics));
  for (const bool plain : {true, false}) {
    FusedDimensions groups = ContiguousDimensions(expression, plain, reductions);
    if (choices.back().fused == groups) continue;
    Result<Expression> fused = FuseDimensions(expression, groups);
    if (fused.ok()) choices.push_back({std::move(groups), *std::move(fused)});
  }
  return choices;
}

}  // namespace mdh

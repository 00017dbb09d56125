#include "codegen/choose/tiles/counted_expression.h"

#include <utility>
#include <vector>

#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"

namespace mdh {

Expression CountedExpression(const Expression& expression, const DeviceDescription& device) {
  for (int d = 0; d < expression.rank(); ++d) {
    const Result<DotPlan> plan = PlanDot(expression, d);
    if (plan.ok() && DotInstructionFor(*plan, device) != nullptr) return expression;
  }
  return WithSeparateAccesses(expression);
}

TuningParameters ForOwners(TuningParameters parameters, const Expression& expression,
                           const Expression& counted, const SystemModel& model) {
  const int v = LaneDimension(model, parameters);
  const std::vector<InputParameters> apart = std::move(parameters.inputs);
  parameters.inputs.assign(apart.begin(), apart.begin() + std::ssize(expression.inputs()));
  for (int b = 0; b < std::ssize(expression.inputs()); ++b) {
    if (!CanStage(expression.inputs()[b])) {
      parameters.inputs[b] = ReadInPlace(expression.inputs()[b]);
    }
  }
  for (int b = std::ssize(counted.inputs()); b-- > 0;) {
    const int x = apart[b].strip_dimension, owner = OwnerOf(counted, b);
    const bool has_strips = x >= 0 && PlainDimension(counted.inputs()[b], x) == v;
    if (CanStage(expression.inputs()[owner]) || !has_strips) continue;
    parameters.inputs[owner] = apart[b];
  }
  return parameters;
}

}  // namespace mdh

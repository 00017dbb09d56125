#include "core/pipeline/plan/step_cost.h"

#include <algorithm>

#include "core/base/round.h"
#include "core/expression/progression.h"

namespace mdh {
namespace {

int64_t OperationsPerCall(const ScalarFunction& function) {
  return std::ranges::count_if(function.instructions(), [](const ScalarInstruction& instruction) {
    return instruction.op != ScalarOp::kParameter && instruction.op != ScalarOp::kConstant;
  });
}

}  // namespace

int64_t OperationsOf(const Expression& expression) {
  int64_t per_point = OperationsPerCall(expression.function());
  if (expression.has_reduction() || expression.has_prefix_sum()) {
    per_point += OperationsPerCall(expression.reduction().function());
  }
  const int64_t operations = MultiplyOrLargest(expression.points(), per_point);
  if (expression.store() == nullptr) return operations;
  return AddOrLargest(operations,
                      MultiplyOrLargest(expression.result_points(),
                                        OperationsPerCall(expression.store()->function)));
}

double CostOf(const Expression& expression, double operations_per_byte) {
  return static_cast<double>(expression.CompulsoryBytes()) +
         static_cast<double>(OperationsOf(expression)) / operations_per_byte;
}

double CostOf(const Pipeline& pipeline, double operations_per_byte) {
  double cost = 0;
  for (const PipelineStep& step : pipeline.steps()) {
    cost += CostOf(step.expression, operations_per_byte);
  }
  return cost;
}

}  // namespace mdh

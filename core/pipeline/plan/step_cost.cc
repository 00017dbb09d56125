#include "core/pipeline/plan/step_cost.h"

#include <algorithm>
#include <vector>

#include "core/base/round.h"
#include "core/expression/progression.h"
#include "core/pipeline/factor_order.h"

namespace mdh {
namespace {

// Points of a tile along each dimension of the results, as registers hold about so many.
constexpr int64_t kTilePoints = 8;

// Multiplications per point that a tile in registers computes once for several points.
double SharedProducts(const Expression& expression) {
  const auto factors = FactorOrder::Of(expression, NumericsPolicy::kReassociate);
  if (!factors) return 0;
  std::vector<int64_t> tile;
  for (int d = 0; d < expression.rank(); ++d) {
    const int64_t size = std::max<int64_t>(1, expression.dimensions()[d].size);
    tile.push_back(expression.is_reduction(d) ? 1 : std::min(size, kTilePoints));
  }
  return factors->AsWritten() - factors->PerPoint(tile);
}

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
  int64_t operations = MultiplyOrLargest(expression.points(), per_point);
  const double shared = SharedProducts(expression) * static_cast<double>(expression.points());
  if (shared < static_cast<double>(operations)) operations -= static_cast<int64_t>(shared);
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

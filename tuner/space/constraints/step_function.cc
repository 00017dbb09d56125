#include "tuner/space/constraints/step_function.h"

#include <algorithm>

#include "tuner/space/constraints/integer_bounds.h"

namespace mdh {
namespace {

// Larger tables are not made: every one has its copy of the entries.
constexpr size_t kMaxSteps = 256;

// operand <= at_most ? inside : outside
struct Threshold {
  int operand;
  int64_t at_most;
  bool is_inside;  // whether the condition holds up to there
};

std::optional<Threshold> ThresholdOf(const OperationGraph& graph, int condition) {
  const Operation& operation = graph.operations()[condition];
  const bool is_less = operation.code == OperationCode::kLess;
  if (!is_less && operation.code != OperationCode::kLessEqual) return std::nullopt;
  if (operation.of_reals || operation.of_conditions) return std::nullopt;
  const int a = operation.operands[0], b = operation.operands[1];
  const auto constant = [&](int number) {
    return graph.operations()[number].code == OperationCode::kConstant &&
           graph.bounds()[number].can == kCanBeDefined;
  };
  if (constant(b) == constant(a)) return std::nullopt;
  const int64_t value = graph.bounds()[constant(b) ? b : a].lo.i;
  if (value == kLeastInteger || value == kGreatestInteger) return std::nullopt;
  if (constant(b)) return Threshold{a, is_less ? value - 1 : value, true};
  return Threshold{b, is_less ? value : value - 1, false};  // value < operand
}

// The entries of a constant or of a table of the operand.
std::optional<std::vector<TableStep>> StepsOf(const OperationGraph& graph, int number,
                                              int operand) {
  const Operation& operation = graph.operations()[number];
  if (operation.kind != ValueKind::kInteger) return std::nullopt;
  const Bounds& bounds = graph.bounds()[number];
  if (operation.code == OperationCode::kConstant && bounds.can == kCanBeDefined) {
    return std::vector<TableStep>{{kGreatestInteger, bounds.lo.i}};
  }
  if (operation.code == OperationCode::kSteps && operation.operands[0] == operand) {
    return operation.steps;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Operation> StepFunction(const OperationGraph& graph, int condition, int then,
                                      int otherwise) {
  const std::optional<Threshold> threshold = ThresholdOf(graph, condition);
  if (!threshold) return std::nullopt;
  if (!threshold->is_inside) std::swap(then, otherwise);
  const auto below = StepsOf(graph, then, threshold->operand);
  const auto above = StepsOf(graph, otherwise, threshold->operand);
  if (!below || !above || below->size() + above->size() > kMaxSteps) return std::nullopt;
  Operation table{.code = OperationCode::kSteps, .operands = {threshold->operand}};
  const auto add = [&](TableStep step) {
    if (!table.steps.empty() && table.steps.back().value == step.value) table.steps.pop_back();
    table.steps.push_back(step);
  };
  for (const TableStep& step : *below) {
    add({std::min(step.at_most, threshold->at_most), step.value});
    if (step.at_most >= threshold->at_most) break;
  }
  for (const TableStep& step : *above) {
    if (step.at_most > threshold->at_most) add(step);
  }
  return table;
}

void EvaluateSteps(const Operation& operation, const Bounds& operand, Bounds& result) {
  result.can = operand.can;
  if ((operand.can & kCanBeDefined) == 0) return;
  const auto find = [&](int64_t value) {
    return std::ranges::partition_point(
        operation.steps, [value](const TableStep& step) { return step.at_most < value; });
  };
  auto step = find(operand.lo.i);
  const int64_t last = operand.hi.i;
  result.lo.i = result.hi.i = step->value;
  for (; step->at_most < last;) {
    ++step;
    result.lo.i = std::min(result.lo.i, step->value);
    result.hi.i = std::max(result.hi.i, step->value);
  }
}

}  // namespace mdh

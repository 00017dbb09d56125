#include "tuner/program/element_formula.h"

#include <algorithm>
#include <utility>

namespace mdh {
namespace {

Number NumberOf(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return Number(*integer);
  if (const auto* real = std::get_if<double>(&value)) return Number(*real);
  return Number(int64_t{std::get<bool>(value)});
}

bool IsTrue(const Number& number) { return number.AsReal() != 0; }

bool Holds(FormulaOp op, int order) {
  switch (op) {
    case FormulaOp::kEqual:
      return order == 0;
    case FormulaOp::kNotEqual:
      return order != 0;
    case FormulaOp::kLess:
      return order < 0;
    case FormulaOp::kLessEqual:
      return order <= 0;
    case FormulaOp::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

}  // namespace

ElementFormula::ElementFormula(const Formula& formula, const std::vector<std::string>& columns,
                               const std::map<std::string, Number>& constants) {
  Add(formula, columns, constants);
}

size_t ElementFormula::Add(const Formula& formula, const std::vector<std::string>& columns,
                           const std::map<std::string, Number>& constants) {
  Node node = {.op = formula.op()};
  if (node.op == FormulaOp::kConstant) node.constant = NumberOf(formula.constant());
  if (node.op == FormulaOp::kParameter) {
    const auto constant = constants.find(formula.parameter());
    if (constant != constants.end()) {
      node.op = FormulaOp::kConstant;
      node.constant = constant->second;
    } else {
      const auto column = std::ranges::find(columns, formula.parameter());
      node.column = static_cast<size_t>(column - columns.begin());
    }
  }
  for (const Formula& operand : formula.operands()) {
    node.operands.push_back(Add(operand, columns, constants));
  }
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

Result<Number> ElementFormula::At(absl::Span<const Number> columns) const {
  Number result;
  switch (Evaluate(nodes_.size() - 1, columns, &result)) {
    case ArithmeticOutcome::kOk:
      return result;
    case ArithmeticOutcome::kUndefined:
      return InvalidArgument("division by zero");
    case ArithmeticOutcome::kOverflow:
      break;
  }
  return OutOfRange("overflow");
}

ArithmeticOutcome ElementFormula::Evaluate(size_t index, absl::Span<const Number> columns,
                                           Number* result) const {
  const Node& node = nodes_[index];
  switch (node.op) {
    case FormulaOp::kConstant:
      *result = node.constant;
      return ArithmeticOutcome::kOk;
    case FormulaOp::kParameter:
      *result = columns[node.column];
      return ArithmeticOutcome::kOk;
    case FormulaOp::kAnd:
    case FormulaOp::kOr: {
      const bool decisive = node.op == FormulaOp::kOr;
      for (const size_t operand : node.operands) {
        const ArithmeticOutcome outcome = Evaluate(operand, columns, result);
        if (outcome != ArithmeticOutcome::kOk) return outcome;
        *result = Number(int64_t{IsTrue(*result)});
        if (IsTrue(*result) == decisive) break;
      }
      return ArithmeticOutcome::kOk;
    }
    case FormulaOp::kIf: {
      const ArithmeticOutcome outcome = Evaluate(node.operands[0], columns, result);
      if (outcome != ArithmeticOutcome::kOk) return outcome;
      return Evaluate(node.operands[IsTrue(*result) ? 1 : 2], columns, result);
    }
    default:
      return EvaluateNumbers(node, columns, result);
  }
}

ArithmeticOutcome ElementFormula::EvaluateNumbers(const Node& node,
                                                  absl::Span<const Number> columns,
                                                  Number* result) const {
  ArithmeticOutcome outcome = Evaluate(node.operands[0], columns, result);
  if (outcome != ArithmeticOutcome::kOk) return outcome;
  switch (node.op) {
    case FormulaOp::kNegate:
      return Negate(*result, result);
    case FormulaOp::kAbsolute:
      return Absolute(*result, result);
    case FormulaOp::kNot:
      *result = Number(int64_t{!IsTrue(*result)});
      return ArithmeticOutcome::kOk;
    default:
      break;
  }
  const bool compares = node.op >= FormulaOp::kEqual && node.op <= FormulaOp::kGreaterEqual;
  for (size_t n = 1; n < node.operands.size() && outcome == ArithmeticOutcome::kOk; ++n) {
    Number operand;
    outcome = Evaluate(node.operands[n], columns, &operand);
    if (outcome != ArithmeticOutcome::kOk) break;
    if (compares) {
      *result = Number(int64_t{Holds(node.op, Compare(*result, operand))});
    } else {
      outcome = Apply(node.op, *result, operand, result);
    }
  }
  return outcome;
}

}  // namespace mdh

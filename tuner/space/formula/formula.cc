// Building formulas; C++ spelling.
#include "tuner/space/formula/formula.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace mdh {

Formula::Formula(Value value)
    : node_(
          std::make_shared<Node>(Node{.op = FormulaOp::kConstant, .constant = std::move(value)})) {}

Formula Formula::Parameter(std::string name) {
  return Formula(std::make_shared<const Node>(
      Node{.op = FormulaOp::kParameter, .parameter = std::move(name)}));
}

Formula Formula::Of(Predicate predicate, const std::vector<std::string>& parameters) {
  Node node{.op = FormulaOp::kPredicate, .predicate = std::move(predicate)};
  for (const std::string& name : parameters) node.operands.push_back(Parameter(name));
  node.size += static_cast<int64_t>(parameters.size());
  node.depth += parameters.empty() ? 0 : 1;
  return Formula(std::make_shared<const Node>(std::move(node)));
}

Formula::Formula(FormulaOp op, std::vector<Formula> operands) {
  Node node{.op = op, .operands = std::move(operands)};
  for (const Formula& operand : node.operands) {
    node.size = std::min(node.size + operand.size(), kMaxFormulaSize + 1);
    node.depth = std::max(node.depth, operand.depth() + 1);
  }
  node_ = std::make_shared<const Node>(std::move(node));
}

namespace {

void CollectParameters(const Formula& formula, std::unordered_set<const void*>& seen,
                       std::unordered_set<std::string_view>& names,
                       std::vector<std::string>& result) {
  if (formula.op() == FormulaOp::kParameter) {
    if (names.insert(formula.parameter()).second) result.push_back(formula.parameter());
    return;
  }
  if (formula.operands().empty() || !seen.insert(formula.identity()).second) return;
  for (const Formula& operand : formula.operands()) CollectParameters(operand, seen, names, result);
}

// Operands of a conjunction or disjunction that goes on.
Formula Joined(FormulaOp op, Formula a, Formula b) {
  std::vector<Formula> operands;
  if (a.op() == op) {
    operands.reserve(a.operands().size() + 1);
    operands = a.operands();
  } else {
    operands.push_back(std::move(a));
  }
  operands.push_back(std::move(b));
  return Formula(op, std::move(operands));
}

Formula Binary(FormulaOp op, Formula a, Formula b) {
  std::vector<Formula> operands;
  operands.reserve(2);
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  return Formula(op, std::move(operands));
}

Formula Unary(FormulaOp op, Formula a) {
  std::vector<Formula> operands;
  operands.push_back(std::move(a));
  return Formula(op, std::move(operands));
}

}  // namespace

std::vector<std::string> Formula::Parameters() const {
  std::unordered_set<const void*> seen;
  std::unordered_set<std::string_view> names;
  std::vector<std::string> result;
  CollectParameters(*this, seen, names, result);
  return result;
}

bool IsSame(const Formula& a, const Formula& b) {
  if (a.identity() == b.identity()) return true;
  if (a.op() != b.op() || a.size() != b.size() || a.depth() != b.depth()) return false;
  if (a.parameter() != b.parameter() || a.constant() != b.constant()) return false;
  if (a.predicate().text != b.predicate().text) return false;
  return std::ranges::equal(a.operands(), b.operands(), IsSame);
}

Formula operator+(Formula a, Formula b) {
  return Binary(FormulaOp::kAdd, std::move(a), std::move(b));
}
Formula operator-(Formula a, Formula b) {
  return Binary(FormulaOp::kSubtract, std::move(a), std::move(b));
}
Formula operator*(Formula a, Formula b) {
  return Binary(FormulaOp::kMultiply, std::move(a), std::move(b));
}
Formula operator/(Formula a, Formula b) {
  return Binary(FormulaOp::kDivide, std::move(a), std::move(b));
}
Formula operator%(Formula a, Formula b) {
  return Binary(FormulaOp::kRemainder, std::move(a), std::move(b));
}
Formula operator-(Formula a) { return Unary(FormulaOp::kNegate, std::move(a)); }
Formula operator==(Formula a, Formula b) {
  return Binary(FormulaOp::kEqual, std::move(a), std::move(b));
}
Formula operator!=(Formula a, Formula b) {
  return Binary(FormulaOp::kNotEqual, std::move(a), std::move(b));
}
Formula operator<(Formula a, Formula b) {
  return Binary(FormulaOp::kLess, std::move(a), std::move(b));
}
Formula operator<=(Formula a, Formula b) {
  return Binary(FormulaOp::kLessEqual, std::move(a), std::move(b));
}
Formula operator>(Formula a, Formula b) {
  return Binary(FormulaOp::kGreater, std::move(a), std::move(b));
}
Formula operator>=(Formula a, Formula b) {
  return Binary(FormulaOp::kGreaterEqual, std::move(a), std::move(b));
}
Formula operator&&(Formula a, Formula b) {
  return Joined(FormulaOp::kAnd, std::move(a), std::move(b));
}
Formula operator||(Formula a, Formula b) {
  return Joined(FormulaOp::kOr, std::move(a), std::move(b));
}
Formula operator!(Formula a) { return Unary(FormulaOp::kNot, std::move(a)); }

Formula Min(std::vector<Formula> values) { return Formula(FormulaOp::kMin, std::move(values)); }
Formula Max(std::vector<Formula> values) { return Formula(FormulaOp::kMax, std::move(values)); }
Formula Absolute(Formula a) { return Unary(FormulaOp::kAbsolute, std::move(a)); }
Formula Power(Formula base, Formula exponent) {
  return Binary(FormulaOp::kPower, std::move(base), std::move(exponent));
}
Formula FloorDivide(Formula a, Formula b) {
  return Binary(FormulaOp::kFloorDivide, std::move(a), std::move(b));
}
Formula CeilDivide(Formula a, Formula b) {
  return Binary(FormulaOp::kCeilDivide, std::move(a), std::move(b));
}
Formula Divides(Formula divisor, Formula dividend) {
  return Binary(FormulaOp::kDivides, std::move(divisor), std::move(dividend));
}

Formula If(Formula condition, Formula then, Formula otherwise) {
  return Formula(FormulaOp::kIf, {std::move(condition), std::move(then), std::move(otherwise)});
}

Formula PositionIn(Formula permutation, std::string item) {
  return Binary(FormulaOp::kPosition, std::move(permutation), Formula(Value(std::move(item))));
}

Formula AllOf(std::vector<Formula> conditions) {
  if (conditions.empty()) return true;
  if (conditions.size() == 1) return std::move(conditions[0]);
  return Formula(FormulaOp::kAnd, std::move(conditions));
}

Formula AnyOf(std::vector<Formula> conditions) {
  if (conditions.empty()) return false;
  if (conditions.size() == 1) return std::move(conditions[0]);
  return Formula(FormulaOp::kOr, std::move(conditions));
}

Formula Product(const std::vector<Formula>& factors) {
  if (factors.empty()) return 1;
  Formula product = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) product = std::move(product) * factors[i];
  return product;
}

Formula Sum(const std::vector<Formula>& terms) {
  if (terms.empty()) return 0;
  Formula sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) sum = std::move(sum) + terms[i];
  return sum;
}

}  // namespace mdh

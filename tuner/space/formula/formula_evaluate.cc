// The value of a formula for one configuration: the living definition of what formulas mean.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/formula_names.h"
#include "tuner/space/formula/formula_number.h"
#include "tuner/space/formula/range.h"

namespace mdh {
namespace {

// Parameters that messages name.
constexpr size_t kMaxNamed = 8;

class Evaluator {
 public:
  Evaluator(absl::Span<const TuningParameter> parameters, absl::Span<const int64_t> configuration)
      : parameters_(parameters), configuration_(configuration) {}

  Result<Value> Evaluate(const Formula& formula);

 private:
  Result<bool> EvaluateCondition(const Formula& formula);
  Result<Number> EvaluateNumber(const Formula& formula);
  Result<Value> EvaluateArithmetic(const Formula& formula);
  Result<Value> EvaluateComparison(const Formula& formula);
  Result<Value> EvaluateConnective(const Formula& formula);
  Result<Value> EvaluatePosition(const Formula& formula);
  Value EvaluatePredicate(const Formula& formula);
  Status Failure(ArithmeticOutcome outcome, const Formula& formula) const;
  size_t IndexOf(const std::string& name) const;

  absl::Span<const TuningParameter> parameters_;
  absl::Span<const int64_t> configuration_;
};

Value ValueOf(Number number) {
  if (number.is_real) return number.real;
  return number.integer;
}

size_t Evaluator::IndexOf(const std::string& name) const {
  size_t index = 0;
  while (parameters_[index].name != name) ++index;
  return index;
}

// What went wrong, where, and with which values.
Status Evaluator::Failure(ArithmeticOutcome outcome, const Formula& formula) const {
  std::string place = absl::StrCat(" in ", QuotedFormula(formula));
  const std::vector<std::string> names = formula.Parameters();
  for (size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) {
    const size_t index = IndexOf(names[i]);
    absl::StrAppend(&place, i == 0 ? " with " : ", ", names[i], " = ",
                    ToText(parameters_[index].range.ValueOf(configuration_[index])));
  }
  if (outcome == ArithmeticOutcome::kOverflow) return OutOfRange("overflow", place);
  return InvalidArgument(
      formula.op() == FormulaOp::kPower ? "power without a value" : "division by zero", place);
}

Result<bool> Evaluator::EvaluateCondition(const Formula& formula) {
  MDH_ASSIGN_OR_RETURN(const Value value, Evaluate(formula));
  return std::get<bool>(value);
}

Result<Number> Evaluator::EvaluateNumber(const Formula& formula) {
  MDH_ASSIGN_OR_RETURN(const Value value, Evaluate(formula));
  if (const int64_t* integer = std::get_if<int64_t>(&value)) return Number(*integer);
  return Number(std::get<double>(value));
}

Result<Value> Evaluator::EvaluateArithmetic(const Formula& formula) {
  const std::vector<Formula>& operands = formula.operands();
  MDH_ASSIGN_OR_RETURN(Number result, EvaluateNumber(operands[0]));
  auto outcome = ArithmeticOutcome::kOk;
  if (formula.op() == FormulaOp::kNegate) outcome = Negate(result, &result);
  if (formula.op() == FormulaOp::kAbsolute) outcome = Absolute(result, &result);
  for (size_t i = 1; i < operands.size() && outcome == ArithmeticOutcome::kOk; ++i) {
    MDH_ASSIGN_OR_RETURN(const Number operand, EvaluateNumber(operands[i]));
    outcome = Apply(formula.op(), result, operand, &result);
  }
  if (outcome != ArithmeticOutcome::kOk) return Failure(outcome, formula);
  if (formula.op() == FormulaOp::kDivides) return Value(result.integer != 0);
  return ValueOf(result);
}

// Negative, 0 or positive, of values that compare.
int CompareValues(const Value& a, const Value& b) {
  if (TypeOf(a) == TypeOf(b)) return a < b ? -1 : a == b ? 0 : 1;
  const auto number = [](const Value& value) {
    const int64_t* integer = std::get_if<int64_t>(&value);
    return integer != nullptr ? Number(*integer) : Number(std::get<double>(value));
  };
  return Compare(number(a), number(b));
}

Result<Value> Evaluator::EvaluateComparison(const Formula& formula) {
  MDH_ASSIGN_OR_RETURN(const Value a, Evaluate(formula.operands()[0]));
  MDH_ASSIGN_OR_RETURN(const Value b, Evaluate(formula.operands()[1]));
  const int order = CompareValues(a, b);
  switch (formula.op()) {
    case FormulaOp::kEqual:
      return Value(order == 0);
    case FormulaOp::kNotEqual:
      return Value(order != 0);
    case FormulaOp::kLess:
      return Value(order < 0);
    case FormulaOp::kLessEqual:
      return Value(order <= 0);
    case FormulaOp::kGreater:
      return Value(order > 0);
    default:
      return Value(order >= 0);
  }
}

// Decides from left to right, and looks no further than necessary.
Result<Value> Evaluator::EvaluateConnective(const Formula& formula) {
  const bool decisive = formula.op() == FormulaOp::kOr;
  for (const Formula& operand : formula.operands()) {
    MDH_ASSIGN_OR_RETURN(const bool holds, EvaluateCondition(operand));
    if (holds == decisive) return Value(decisive);
  }
  return Value(!decisive);
}

Result<Value> Evaluator::EvaluatePosition(const Formula& formula) {
  MDH_ASSIGN_OR_RETURN(const Value order, Evaluate(formula.operands()[0]));
  MDH_ASSIGN_OR_RETURN(const Value item, Evaluate(formula.operands()[1]));
  const auto& items = std::get<std::vector<std::string>>(order);
  const auto found = std::ranges::find(items, std::get<std::string>(item));
  return Value(int64_t{found - items.begin()});
}

Value Evaluator::EvaluatePredicate(const Formula& formula) {
  std::vector<int64_t> codes;
  codes.reserve(formula.operands().size());
  for (const Formula& operand : formula.operands()) {
    codes.push_back(configuration_[IndexOf(operand.parameter())]);
  }
  return formula.predicate().holds(codes);
}

Result<Value> Evaluator::Evaluate(const Formula& formula) {
  switch (formula.op()) {
    case FormulaOp::kConstant:
      return formula.constant();
    case FormulaOp::kParameter: {
      const size_t index = IndexOf(formula.parameter());
      return parameters_[index].range.ValueOf(configuration_[index]);
    }
    case FormulaOp::kEqual:
    case FormulaOp::kNotEqual:
    case FormulaOp::kLess:
    case FormulaOp::kLessEqual:
    case FormulaOp::kGreater:
    case FormulaOp::kGreaterEqual:
      return EvaluateComparison(formula);
    case FormulaOp::kAnd:
    case FormulaOp::kOr:
      return EvaluateConnective(formula);
    case FormulaOp::kNot: {
      MDH_ASSIGN_OR_RETURN(const bool holds, EvaluateCondition(formula.operands()[0]));
      return Value(!holds);
    }
    case FormulaOp::kIf: {
      MDH_ASSIGN_OR_RETURN(const bool holds, EvaluateCondition(formula.operands()[0]));
      return Evaluate(formula.operands()[holds ? 1 : 2]);
    }
    case FormulaOp::kPosition:
      return EvaluatePosition(formula);
    case FormulaOp::kPredicate:
      return EvaluatePredicate(formula);
    default:
      return EvaluateArithmetic(formula);
  }
}

}  // namespace

Result<Value> Evaluate(const Formula& formula, absl::Span<const TuningParameter> parameters,
                       absl::Span<const int64_t> configuration) {
  return Evaluator(parameters, configuration).Evaluate(formula);
}

}  // namespace mdh

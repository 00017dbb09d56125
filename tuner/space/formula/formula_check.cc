// Types of formulas.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/formula_names.h"
#include "tuner/space/formula/range.h"

namespace mdh {
namespace {

struct Checked {
  ValueType type;
  // An integer that is never negative, as far as ranges say.
  bool non_negative = false;
};

bool IsNumeric(ValueType type) { return type == ValueType::kInteger || type == ValueType::kReal; }

std::string TypeName(ValueType type) { return std::string(Name(type)); }

class Checker {
 public:
  explicit Checker(absl::Span<const TuningParameter> parameters) : parameters_(parameters) {}

  Result<Checked> Check(const Formula& formula);

 private:
  Result<Checked> CheckConstant(const Formula& formula);
  Result<Checked> CheckParameter(const Formula& formula);
  Result<Checked> CheckArithmetic(const Formula& formula, const std::vector<Checked>& operands);
  Result<Checked> CheckComparison(const Formula& formula, const std::vector<Checked>& operands);
  Result<Checked> CheckIf(const Formula& formula, const std::vector<Checked>& operands);
  Result<Checked> CheckPosition(const Formula& formula, const std::vector<Checked>& operands);
  Result<Checked> CheckPredicate(const Formula& formula);
  // That all operands satisfy the condition; `expected` says what they are.
  Status ExpectOperands(const Formula& formula, const std::vector<Checked>& operands,
                        bool (*is_right)(ValueType), const char* expected);
  // nullptr if there is none of that name.
  const TuningParameter* Find(const std::string& name);

  absl::Span<const TuningParameter> parameters_;
  std::unordered_map<std::string, const TuningParameter*> found_;
};

const TuningParameter* Checker::Find(const std::string& name) {
  const auto [place, is_new] = found_.try_emplace(name, nullptr);
  if (is_new) {
    for (const TuningParameter& parameter : parameters_) {
      if (parameter.name == name) place->second = &parameter;
    }
  }
  return place->second;
}

Status Checker::ExpectOperands(const Formula& formula, const std::vector<Checked>& operands,
                               bool (*is_right)(ValueType), const char* expected) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (is_right(operands[i].type)) continue;
    return InvalidArgument("in ", QuotedFormula(formula), ": ", std::string(Spelling(formula.op())),
                           " takes ", expected, ", but ", QuotedFormula(formula.operands()[i]),
                           " is of type ", TypeName(operands[i].type));
  }
  return absl::OkStatus();
}

Result<Checked> Checker::CheckConstant(const Formula& formula) {
  const Value& value = formula.constant();
  if (const double* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real)) {
    return InvalidArgument("the constant ", *real, " is not finite");
  }
  const int64_t* integer = std::get_if<int64_t>(&value);
  return Checked{TypeOf(value), integer != nullptr && *integer >= 0};
}

Result<Checked> Checker::CheckParameter(const Formula& formula) {
  const TuningParameter* parameter = Find(formula.parameter());
  if (parameter == nullptr) {
    std::vector<std::string> names;
    for (const TuningParameter& known : parameters_) names.push_back(known.name);
    return InvalidArgument("there is no parameter '", formula.parameter(), "'",
                           Suggestion(formula.parameter(), names));
  }
  const ValueType type = parameter->range.type();
  return Checked{type, type == ValueType::kInteger && parameter->range.smallest_code() >= 0};
}

Result<Checked> Checker::CheckArithmetic(const Formula& formula,
                                         const std::vector<Checked>& operands) {
  MDH_RETURN_IF_ERROR(ExpectOperands(formula, operands, IsNumeric, "numbers"));
  const auto is_real = [](const Checked& operand) { return operand.type == ValueType::kReal; };
  const auto not_negative = [](const Checked& operand) { return operand.non_negative; };
  const FormulaOp op = formula.op();
  if (op == FormulaOp::kDivide || std::ranges::any_of(operands, is_real) ||
      (op == FormulaOp::kPower && !operands[1].non_negative)) {
    return Checked{ValueType::kReal};
  }
  switch (op) {
    case FormulaOp::kSubtract:
    case FormulaOp::kNegate:
      return Checked{ValueType::kInteger, false};
    case FormulaOp::kAbsolute:
      return Checked{ValueType::kInteger, true};
    case FormulaOp::kRemainder:
      return Checked{ValueType::kInteger, operands[1].non_negative};
    case FormulaOp::kMax:
      return Checked{ValueType::kInteger, std::ranges::any_of(operands, not_negative)};
    default:
      return Checked{ValueType::kInteger, std::ranges::all_of(operands, not_negative)};
  }
}

Result<Checked> Checker::CheckComparison(const Formula& formula,
                                         const std::vector<Checked>& operands) {
  const ValueType a = operands[0].type;
  const ValueType b = operands[1].type;
  if (a != b && !(IsNumeric(a) && IsNumeric(b))) {
    return InvalidArgument("in ", QuotedFormula(formula), ": ",
                           QuotedFormula(formula.operands()[0]), " is of type ", TypeName(a),
                           " and ", QuotedFormula(formula.operands()[1]), " of type ", TypeName(b),
                           ", which do not compare");
  }
  if (formula.op() != FormulaOp::kEqual && formula.op() != FormulaOp::kNotEqual) {
    MDH_RETURN_IF_ERROR(ExpectOperands(
        formula, operands,
        [](ValueType type) { return IsNumeric(type) || type == ValueType::kString; },
        "numbers or strings"));
  }
  return Checked{ValueType::kBool};
}

Result<Checked> Checker::CheckIf(const Formula& formula, const std::vector<Checked>& operands) {
  if (operands[0].type != ValueType::kBool) {
    return InvalidArgument("in ", QuotedFormula(formula), ": the condition ",
                           QuotedFormula(formula.operands()[0]), " is of type ",
                           TypeName(operands[0].type), ", not bool");
  }
  const ValueType a = operands[1].type;
  const ValueType b = operands[2].type;
  if (a == b) return Checked{a, operands[1].non_negative && operands[2].non_negative};
  if (IsNumeric(a) && IsNumeric(b)) return Checked{ValueType::kReal};
  return InvalidArgument("in ", QuotedFormula(formula), ": the choices are of types ", TypeName(a),
                         " and ", TypeName(b));
}

Result<Checked> Checker::CheckPosition(const Formula& formula,
                                       const std::vector<Checked>& operands) {
  const Formula& order = formula.operands()[0];
  if (operands[0].type != ValueType::kPermutation ||
      (order.op() != FormulaOp::kParameter && order.op() != FormulaOp::kConstant)) {
    return InvalidArgument("in ", QuotedFormula(formula), ": position looks into a parameter ",
                           "that is a permutation, but ", QuotedFormula(order), " is none");
  }
  const Formula& item = formula.operands()[1];
  if (item.op() != FormulaOp::kConstant || operands[1].type != ValueType::kString) {
    return InvalidArgument("in ", QuotedFormula(formula),
                           ": position looks for an item in quotes, but ", QuotedFormula(item),
                           " is none");
  }
  const std::vector<std::string>& items =
      order.op() == FormulaOp::kParameter ? Find(order.parameter())->range.items()
                                          : std::get<std::vector<std::string>>(order.constant());
  const std::string& name = std::get<std::string>(item.constant());
  if (std::ranges::find(items, name) == items.end()) {
    return InvalidArgument("in ", QuotedFormula(formula), ": ", ToText(item.constant()),
                           " is no item of ", QuotedFormula(order), Suggestion(name, items));
  }
  return Checked{ValueType::kInteger, true};
}

Result<Checked> Checker::CheckPredicate(const Formula& formula) {
  for (const Formula& operand : formula.operands()) {
    if (operand.op() != FormulaOp::kParameter) {
      return InvalidArgument("the predicate ", QuotedFormula(formula), " looks at ",
                             QuotedFormula(operand), ", which is no parameter");
    }
  }
  if (formula.predicate().holds == nullptr) {
    return InvalidArgument("the predicate ", QuotedFormula(formula), " has no function");
  }
  return Checked{ValueType::kBool};
}

// How many operands an operation takes.
bool HasRightOperands(const Formula& formula) {
  const size_t count = formula.operands().size();
  switch (formula.op()) {
    case FormulaOp::kConstant:
    case FormulaOp::kParameter:
      return count == 0;
    case FormulaOp::kNegate:
    case FormulaOp::kAbsolute:
    case FormulaOp::kNot:
      return count == 1;
    case FormulaOp::kMin:
    case FormulaOp::kMax:
      return count >= 1;
    case FormulaOp::kAnd:
    case FormulaOp::kOr:
      return count >= 2;
    case FormulaOp::kIf:
      return count == 3;
    case FormulaOp::kPredicate:
      return true;
    default:
      return count == 2;
  }
}

Result<Checked> Checker::Check(const Formula& formula) {
  const FormulaOp op = formula.op();
  if (!HasRightOperands(formula)) {
    return InvalidArgument(std::string(Spelling(op)), " does not take ", formula.operands().size(),
                           " operands");
  }
  if (op == FormulaOp::kConstant) return CheckConstant(formula);
  if (op == FormulaOp::kParameter) return CheckParameter(formula);
  std::vector<Checked> operands;
  operands.reserve(formula.operands().size());
  for (const Formula& operand : formula.operands()) {
    MDH_ASSIGN_OR_RETURN(operands.emplace_back(), Check(operand));
  }
  switch (op) {
    case FormulaOp::kPredicate:
      return CheckPredicate(formula);
    case FormulaOp::kPosition:
      return CheckPosition(formula, operands);
    case FormulaOp::kIf:
      return CheckIf(formula, operands);
    case FormulaOp::kAnd:
    case FormulaOp::kOr:
    case FormulaOp::kNot:
      MDH_RETURN_IF_ERROR(ExpectOperands(
          formula, operands, [](ValueType type) { return type == ValueType::kBool; },
          "conditions"));
      return Checked{ValueType::kBool};
    case FormulaOp::kCeilDivide:
    case FormulaOp::kDivides:
      MDH_RETURN_IF_ERROR(ExpectOperands(
          formula, operands, [](ValueType type) { return type == ValueType::kInteger; },
          "integers"));
      if (op == FormulaOp::kDivides) return Checked{ValueType::kBool};
      return CheckArithmetic(formula, operands);
    case FormulaOp::kEqual:
    case FormulaOp::kNotEqual:
    case FormulaOp::kLess:
    case FormulaOp::kLessEqual:
    case FormulaOp::kGreater:
    case FormulaOp::kGreaterEqual:
      return CheckComparison(formula, operands);
    default:
      return CheckArithmetic(formula, operands);
  }
}

}  // namespace

Result<ValueType> CheckFormula(const Formula& formula,
                               absl::Span<const TuningParameter> parameters) {
  if (formula.depth() > kMaxFormulaDepth) {
    return InvalidArgument("a formula is ", formula.depth(), " operations deep, but at most ",
                           kMaxFormulaDepth, " are allowed");
  }
  if (formula.size() > kMaxFormulaSize) {
    return InvalidArgument("a formula has more than ", kMaxFormulaSize, " operations and operands");
  }
  MDH_ASSIGN_OR_RETURN(const Checked checked, Checker(parameters).Check(formula));
  return checked.type;
}

}  // namespace mdh

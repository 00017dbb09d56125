// Formulas as text, with the fewest parentheses.
#include "absl/strings/str_cat.h"
#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/formula_names.h"

namespace mdh {
namespace {

// How tightly an operation binds; operands that bind less are put in parentheses.
enum Level : uint8_t {
  kConditional,
  kDisjunction,
  kConjunction,
  kNegation,
  kComparison,
  kSum,
  kProduct,
  kSign,
  kExponent,
  kAtom,
};

bool IsNumber(const Formula& formula) {
  return formula.op() == FormulaOp::kConstant &&
         (TypeOf(formula.constant()) == ValueType::kInteger ||
          TypeOf(formula.constant()) == ValueType::kReal);
}

Level LevelOf(const Formula& formula) {
  switch (formula.op()) {
    case FormulaOp::kConstant:
      // Signs of constants are written like operations.
      return IsNumber(formula) && ToText(formula.constant())[0] == '-' ? kSign : kAtom;
    case FormulaOp::kAdd:
    case FormulaOp::kSubtract:
      return kSum;
    case FormulaOp::kMultiply:
    case FormulaOp::kDivide:
    case FormulaOp::kFloorDivide:
    case FormulaOp::kRemainder:
      return kProduct;
    case FormulaOp::kPower:
      return kExponent;
    case FormulaOp::kNegate:
      return kSign;
    case FormulaOp::kEqual:
    case FormulaOp::kNotEqual:
    case FormulaOp::kLess:
    case FormulaOp::kLessEqual:
    case FormulaOp::kGreater:
    case FormulaOp::kGreaterEqual:
      return kComparison;
    case FormulaOp::kAnd:
      return kConjunction;
    case FormulaOp::kOr:
      return kDisjunction;
    case FormulaOp::kNot:
      return kNegation;
    case FormulaOp::kIf:
    case FormulaOp::kPredicate:
      return kConditional;
    default:
      return kAtom;
  }
}

class Printer {
 public:
  std::string Print(const Formula& formula) {
    Write(formula);
    return std::move(text_);
  }

 private:
  // Writes an operand of an operation that takes operands from `least` on.
  void WriteOperand(const Formula& formula, Level least) {
    if (LevelOf(formula) >= least) {
      Write(formula);
      return;
    }
    WriteInParentheses(formula);
  }

  void WriteInParentheses(const Formula& formula) {
    text_ += '(';
    Write(formula);
    text_ += ')';
  }

  // Operands between which the operation is written.
  void WriteInfix(const Formula& formula, Level first, Level others) {
    const std::vector<Formula>& operands = formula.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i > 0) absl::StrAppend(&text_, " ", std::string(Spelling(formula.op())), " ");
      WriteOperand(operands[i], i == 0 ? first : others);
    }
  }

  void WriteCall(const Formula& formula) {
    text_ += Spelling(formula.op());
    text_ += '(';
    for (size_t i = 0; i < formula.operands().size(); ++i) {
      if (i > 0) text_ += ", ";
      Write(formula.operands()[i]);
    }
    text_ += ')';
  }

  void WriteSign(const Formula& operand) {
    text_ += '-';
    // A sign before a number belongs to the number.
    if (IsNumber(operand) && LevelOf(operand) == kAtom) {
      WriteInParentheses(operand);
    } else {
      WriteOperand(operand, kSign);
    }
  }

  void Write(const Formula& formula) {
    const std::vector<Formula>& operands = formula.operands();
    const Level level = LevelOf(formula);
    if (formula.op() == FormulaOp::kConstant) {
      text_ += ToText(formula.constant());
    } else if (formula.op() == FormulaOp::kParameter) {
      text_ += formula.parameter();
    } else if (formula.op() == FormulaOp::kPredicate) {
      text_ += formula.predicate().text;
    } else if (formula.op() == FormulaOp::kIf) {
      WriteOperand(operands[1], kDisjunction);
      text_ += " if ";
      WriteOperand(operands[0], kDisjunction);
      text_ += " else ";
      Write(operands[2]);
    } else if (formula.op() == FormulaOp::kNot) {
      text_ += "not ";
      WriteOperand(operands[0], kNegation);
    } else if (formula.op() == FormulaOp::kNegate) {
      WriteSign(operands[0]);
    } else if (formula.op() == FormulaOp::kPower) {
      WriteInfix(formula, kAtom, kSign);
    } else if (level == kSum || level == kProduct) {
      WriteInfix(formula, level, static_cast<Level>(level + 1));
    } else if (level == kAtom) {
      WriteCall(formula);
    } else {
      // Comparisons, conjunctions and disjunctions do not nest without parentheses.
      const auto tighter = static_cast<Level>(level + 1);
      WriteInfix(formula, tighter, tighter);
    }
  }

  std::string text_;
};

}  // namespace

std::string Formula::ToText() const { return Printer().Print(*this); }

}  // namespace mdh

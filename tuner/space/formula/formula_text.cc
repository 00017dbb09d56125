// Reads formulas: recursive descent over Python's levels of precedence.
#include "tuner/space/formula/formula_text.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tuner/space/formula/formula_cursor.h"
#include "tuner/space/formula/formula_lexer.h"
#include "tuner/space/formula/formula_names.h"
#include "tuner/space/formula/range.h"

namespace mdh {
namespace {

using Kind = FormulaToken::Kind;

struct Operator {
  std::string_view symbol;
  FormulaOp op;
};

constexpr Operator kComparisons[] = {{"==", FormulaOp::kEqual},  {"!=", FormulaOp::kNotEqual},
                                     {"<", FormulaOp::kLess},    {"<=", FormulaOp::kLessEqual},
                                     {">", FormulaOp::kGreater}, {">=", FormulaOp::kGreaterEqual}};
constexpr Operator kSums[] = {{"+", FormulaOp::kAdd}, {"-", FormulaOp::kSubtract}};
constexpr Operator kProducts[] = {{"*", FormulaOp::kMultiply},
                                  {"/", FormulaOp::kDivide},
                                  {"//", FormulaOp::kFloorDivide},
                                  {"%", FormulaOp::kRemainder}};

// Number of operands; most: -1 for any number.
struct Function {
  std::string_view name;
  FormulaOp op;
  int fewest;
  int most;
};
constexpr Function kFunctions[] = {
    {"abs", FormulaOp::kAbsolute, 1, 1},    {"ceil_div", FormulaOp::kCeilDivide, 2, 2},
    {"divides", FormulaOp::kDivides, 2, 2}, {"max", FormulaOp::kMax, 1, -1},
    {"min", FormulaOp::kMin, 1, -1},        {"position", FormulaOp::kPosition, 2, 2}};

class Parser {
 public:
  Parser(std::string_view text, const std::map<std::string, Formula>& definitions)
      : cursor_(text), definitions_(definitions) {}

  Result<Formula> Parse();

 private:
  Result<Formula> ParseConditional();
  Result<Formula> ParseDisjunction();
  Result<Formula> ParseConjunction();
  Result<Formula> ParseNegation();
  Result<Formula> ParseComparison();
  Result<Formula> ParseMembership(const Formula& value);
  Result<Formula> ParseSum();
  Result<Formula> ParseProduct();
  Result<Formula> ParseSigned();
  Result<Formula> ParseNegative();
  Result<Formula> ParsePower();
  Result<Formula> ParsePrimary();
  Result<Formula> ParseName();
  Result<Formula> ParseCall(const FormulaToken& name);
  Result<Formula> ParsePermutation();
  // Formulas up to the closing bracket, at least one; the opening one was read.
  Result<std::vector<Formula>> ParseList(std::string_view closing);

  // Operands on one level of precedence, from left to right.
  template <size_t n>
  Result<Formula> ParseChain(const Operator (&operators)[n], Result<Formula> (Parser::*operand)());
  template <size_t n>
  const Operator* AmongNext(const Operator (&operators)[n]) const;

  // An operation with its operands, unless the formula becomes too large.
  Result<Formula> Build(FormulaOp op, std::vector<Formula> operands);

  FormulaCursor cursor_;
  const std::map<std::string, Formula>& definitions_;
};

Result<Formula> Parser::Build(FormulaOp op, std::vector<Formula> operands) {
  Formula formula(op, std::move(operands));
  if (formula.depth() > kMaxFormulaDepth) {
    return cursor_.ErrorAt(cursor_.token().offset,
                           "the formula, with definitions written in place, is more "
                           "than ",
                           kMaxFormulaDepth, " operations deep");
  }
  if (formula.size() > kMaxFormulaSize) {
    return cursor_.ErrorAt(cursor_.token().offset,
                           "the formula, with definitions written in place, has more "
                           "than ",
                           kMaxFormulaSize, " operations and operands");
  }
  return formula;
}

Result<Formula> Parser::Parse() {
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  MDH_ASSIGN_OR_RETURN(Formula formula, ParseConditional());
  if (cursor_.token().kind != Kind::kEnd) return cursor_.Expected("an operator or the end");
  return formula;
}

Result<Formula> Parser::ParseConditional() {
  MDH_RETURN_IF_ERROR(cursor_.Enter());
  MDH_ASSIGN_OR_RETURN(Formula first, ParseDisjunction());
  MDH_ASSIGN_OR_RETURN(const bool is_python, cursor_.Accept("if"));
  if (is_python) {
    MDH_ASSIGN_OR_RETURN(Formula condition, ParseDisjunction());
    MDH_RETURN_IF_ERROR(cursor_.Expect("else"));
    MDH_ASSIGN_OR_RETURN(Formula otherwise, ParseConditional());
    cursor_.Leave();
    return Build(FormulaOp::kIf, {std::move(condition), std::move(first), std::move(otherwise)});
  }
  MDH_ASSIGN_OR_RETURN(const bool is_c, cursor_.Accept("?"));
  if (is_c) {
    MDH_ASSIGN_OR_RETURN(Formula then, ParseConditional());
    MDH_RETURN_IF_ERROR(cursor_.Expect(":"));
    MDH_ASSIGN_OR_RETURN(Formula otherwise, ParseConditional());
    cursor_.Leave();
    return Build(FormulaOp::kIf, {std::move(first), std::move(then), std::move(otherwise)});
  }
  cursor_.Leave();
  return first;
}

Result<Formula> Parser::ParseDisjunction() {
  std::vector<Formula> operands;
  MDH_ASSIGN_OR_RETURN(Formula first, ParseConjunction());
  operands.push_back(std::move(first));
  while (cursor_.NextIs("or") || cursor_.NextIs("||")) {
    MDH_RETURN_IF_ERROR(cursor_.Advance());
    MDH_ASSIGN_OR_RETURN(Formula operand, ParseConjunction());
    operands.push_back(std::move(operand));
  }
  if (operands.size() == 1) return std::move(operands[0]);
  return Build(FormulaOp::kOr, std::move(operands));
}

Result<Formula> Parser::ParseConjunction() {
  std::vector<Formula> operands;
  MDH_ASSIGN_OR_RETURN(Formula first, ParseNegation());
  operands.push_back(std::move(first));
  while (cursor_.NextIs("and") || cursor_.NextIs("&&")) {
    MDH_RETURN_IF_ERROR(cursor_.Advance());
    MDH_ASSIGN_OR_RETURN(Formula operand, ParseNegation());
    operands.push_back(std::move(operand));
  }
  if (operands.size() == 1) return std::move(operands[0]);
  return Build(FormulaOp::kAnd, std::move(operands));
}

Result<Formula> Parser::ParseNegation() {
  MDH_ASSIGN_OR_RETURN(const bool is_negated, cursor_.Accept("not"));
  if (!is_negated) return ParseComparison();
  MDH_RETURN_IF_ERROR(cursor_.Enter());
  MDH_ASSIGN_OR_RETURN(Formula operand, ParseNegation());
  cursor_.Leave();
  return Build(FormulaOp::kNot, {std::move(operand)});
}

// a < b <= c is a < b and b <= c.
Result<Formula> Parser::ParseComparison() {
  MDH_ASSIGN_OR_RETURN(Formula left, ParseSum());
  std::vector<Formula> comparisons;
  while (const Operator* comparison = AmongNext(kComparisons)) {
    MDH_RETURN_IF_ERROR(cursor_.Advance());
    MDH_ASSIGN_OR_RETURN(Formula right, ParseSum());
    MDH_ASSIGN_OR_RETURN(Formula compared, Build(comparison->op, {std::move(left), right}));
    comparisons.push_back(std::move(compared));
    left = std::move(right);
  }
  if (cursor_.NextIs("in") || cursor_.NextIs("not")) {
    MDH_ASSIGN_OR_RETURN(Formula member, ParseMembership(left));
    comparisons.push_back(std::move(member));
  }
  if (comparisons.empty()) return left;
  if (comparisons.size() == 1) return std::move(comparisons[0]);
  return Build(FormulaOp::kAnd, std::move(comparisons));
}

// in (1, 2, 4); not in [1, 2, 4].
Result<Formula> Parser::ParseMembership(const Formula& value) {
  MDH_ASSIGN_OR_RETURN(const bool is_negated, cursor_.Accept("not"));
  MDH_RETURN_IF_ERROR(cursor_.Expect("in"));
  const std::string_view closing = cursor_.NextIs("[") ? "]" : ")";
  if (!cursor_.NextIs("(") && !cursor_.NextIs("[")) return cursor_.Expected("'(' and the values");
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  MDH_ASSIGN_OR_RETURN(std::vector<Formula> members, ParseList(closing));
  std::vector<Formula> equalities;
  for (Formula& member : members) {
    MDH_ASSIGN_OR_RETURN(Formula equality, Build(FormulaOp::kEqual, {value, std::move(member)}));
    equalities.push_back(std::move(equality));
  }
  MDH_ASSIGN_OR_RETURN(Formula any, equalities.size() == 1
                                        ? Result<Formula>(std::move(equalities[0]))
                                        : Build(FormulaOp::kOr, std::move(equalities)));
  if (!is_negated) return any;
  return Build(FormulaOp::kNot, {std::move(any)});
}

template <size_t n>
const Operator* Parser::AmongNext(const Operator (&operators)[n]) const {
  if (cursor_.token().kind != Kind::kSymbol) return nullptr;
  for (const Operator& candidate : operators) {
    if (cursor_.token().text == candidate.symbol) return &candidate;
  }
  return nullptr;
}

template <size_t n>
Result<Formula> Parser::ParseChain(const Operator (&operators)[n],
                                   Result<Formula> (Parser::*operand)()) {
  MDH_ASSIGN_OR_RETURN(Formula left, (this->*operand)());
  while (const Operator* infix = AmongNext(operators)) {
    MDH_RETURN_IF_ERROR(cursor_.Advance());
    MDH_ASSIGN_OR_RETURN(Formula right, (this->*operand)());
    MDH_ASSIGN_OR_RETURN(left, Build(infix->op, {std::move(left), std::move(right)}));
  }
  return left;
}

Result<Formula> Parser::ParseSum() { return ParseChain(kSums, &Parser::ParseProduct); }

Result<Formula> Parser::ParseProduct() { return ParseChain(kProducts, &Parser::ParseSigned); }

Result<Formula> Parser::ParseSigned() {
  if (!cursor_.NextIs("-") && !cursor_.NextIs("+") && !cursor_.NextIs("!")) return ParsePower();
  MDH_RETURN_IF_ERROR(cursor_.Enter());
  const std::string_view sign = cursor_.token().text;
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  MDH_ASSIGN_OR_RETURN(Formula formula, sign == "-" ? ParseNegative() : ParseSigned());
  cursor_.Leave();
  if (sign == "!") return Build(FormulaOp::kNot, {std::move(formula)});
  return formula;
}

// Behind a minus. With a number, that is not the base of a power, it is a constant.
Result<Formula> Parser::ParseNegative() {
  if (cursor_.token().kind != Kind::kInteger && cursor_.token().kind != Kind::kReal) {
    MDH_ASSIGN_OR_RETURN(Formula operand, ParseSigned());
    return Build(FormulaOp::kNegate, {std::move(operand)});
  }
  const FormulaToken number = cursor_.token();
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  if (!cursor_.NextIs("**")) {
    if (number.kind == Kind::kReal) return Formula(-number.real);
    return Formula(static_cast<int64_t>(0 - number.integer));
  }
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  MDH_ASSIGN_OR_RETURN(Formula exponent, ParseSigned());
  if (number.integer > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return cursor_.ErrorAt(number.offset, "the integer does not fit into 64 bits");
  }
  Formula base = number.kind == Kind::kReal ? Formula(number.real)
                                            : Formula(static_cast<int64_t>(number.integer));
  MDH_ASSIGN_OR_RETURN(Formula power,
                       Build(FormulaOp::kPower, {std::move(base), std::move(exponent)}));
  return Build(FormulaOp::kNegate, {std::move(power)});
}

Result<Formula> Parser::ParsePower() {
  MDH_ASSIGN_OR_RETURN(Formula base, ParsePrimary());
  MDH_ASSIGN_OR_RETURN(const bool is_power, cursor_.Accept("**"));
  if (!is_power) return base;
  MDH_RETURN_IF_ERROR(cursor_.Enter());
  MDH_ASSIGN_OR_RETURN(Formula exponent, ParseSigned());
  cursor_.Leave();
  return Build(FormulaOp::kPower, {std::move(base), std::move(exponent)});
}

Result<Formula> Parser::ParsePrimary() {
  const FormulaToken token = cursor_.token();
  if (token.kind == Kind::kName) return ParseName();
  if (token.kind == Kind::kEnd) return cursor_.Expected("a value");
  if (token.kind == Kind::kInteger &&
      token.integer > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return cursor_.ErrorAt(token.offset, "the integer does not fit into 64 bits");
  }
  if (token.kind == Kind::kSymbol && token.text != "(" && token.text != "[") {
    return cursor_.Expected("a value");
  }
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  switch (token.kind) {
    case Kind::kInteger:
      return Formula(static_cast<int64_t>(token.integer));
    case Kind::kReal:
      return Formula(token.real);
    case Kind::kString:
      return Formula(token.content);
    default:
      break;
  }
  if (token.text == "[") return ParsePermutation();
  MDH_ASSIGN_OR_RETURN(Formula inner, ParseConditional());
  MDH_RETURN_IF_ERROR(cursor_.Expect(")"));
  return inner;
}

Result<Formula> Parser::ParsePermutation() {
  std::vector<std::string> items;
  do {
    if (cursor_.token().kind != Kind::kString) return cursor_.Expected("an item in quotes");
    items.push_back(cursor_.token().content);
    MDH_RETURN_IF_ERROR(cursor_.Advance());
    if (!cursor_.NextIs(",")) break;
    MDH_RETURN_IF_ERROR(cursor_.Advance());
  } while (!cursor_.NextIs("]"));
  if (!cursor_.NextIs("]")) return cursor_.Expected("',' or ']'");
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  return Formula(Value(std::move(items)));
}

Result<Formula> Parser::ParseName() {
  const FormulaToken name = cursor_.token();
  if (name.text == "True" || name.text == "true" || name.text == "False" || name.text == "false") {
    MDH_RETURN_IF_ERROR(cursor_.Advance());
    return Formula(name.text[0] == 'T' || name.text[0] == 't');
  }
  if (!IsParameterName(name.text)) return cursor_.Expected("a value");
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  if (cursor_.NextIs("(")) return ParseCall(name);
  const auto definition = definitions_.find(std::string(name.text));
  if (definition != definitions_.end()) return definition->second;
  return Formula::Parameter(std::string(name.text));
}

Result<Formula> Parser::ParseCall(const FormulaToken& name) {
  const Function* function = nullptr;
  for (const Function& candidate : kFunctions) {
    if (candidate.name == name.text) function = &candidate;
  }
  if (function == nullptr) {
    return cursor_.ErrorAt(name.offset, "there is no function ", QuotedText(name.text),
                           Suggestion(name.text, FormulaFunctions()));
  }
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  MDH_ASSIGN_OR_RETURN(std::vector<Formula> operands, ParseList(")"));
  const auto count = static_cast<int>(operands.size());
  if (count < function->fewest || (function->most >= 0 && count > function->most)) {
    return cursor_.ErrorAt(name.offset, std::string(name.text), " takes ", function->fewest,
                           function->fewest == 1 ? " operand" : " operands", ", but ", count,
                           count == 1 ? " is" : " are", " given");
  }
  return Build(function->op, std::move(operands));
}

Result<std::vector<Formula>> Parser::ParseList(std::string_view closing) {
  std::vector<Formula> list;
  do {
    MDH_ASSIGN_OR_RETURN(Formula element, ParseConditional());
    list.push_back(std::move(element));
    if (!cursor_.NextIs(",")) break;
    MDH_RETURN_IF_ERROR(cursor_.Advance());
  } while (!cursor_.NextIs(closing));
  if (!cursor_.NextIs(closing))
    return cursor_.Expected(absl::StrCat("',' or ", QuotedText(closing)));
  MDH_RETURN_IF_ERROR(cursor_.Advance());
  return list;
}

}  // namespace

Result<Formula> ParseFormulaOver(std::string_view text,
                                 const std::map<std::string, Formula>& definitions) {
  if (text.size() > kMaxFormulaLength) {
    return InvalidArgument("the formula has ", text.size(), " bytes, but at most ",
                           kMaxFormulaLength, " are allowed");
  }
  return Parser(text, definitions).Parse();
}

Result<Formula> ParseFormula(std::string_view text,
                             const std::map<std::string, std::string>& definitions) {
  MDH_ASSIGN_OR_RETURN(const auto formulas, ParseDefinitions(definitions));
  return ParseFormulaOver(text, formulas);
}

}  // namespace mdh

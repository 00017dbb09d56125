// Formulas built in C++: text, types, values.
#include "tuner/space/formula/formula.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/error_message.h"
#include "tuner/space/formula/range.h"

namespace mdh::formula_test {
namespace {

constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

std::vector<TuningParameter> Parameters() {
  return {{"a", *Range::Interval(0, 100)},
          {"b", *Range::Integers({-4, 0, 2, 4})},
          {"x", *Range::Of({Value(0.5), Value(2.0), Value(-1.0)})},
          {"mode", *Range::Of({Value(std::string("fast")), Value(std::string("slow"))})},
          {"on", Range::Bool()},
          {"order", *Range::Permutations({"i", "j", "k"})}};
}

const Formula a = Formula::Parameter("a");
const Formula b = Formula::Parameter("b");
const Formula x = Formula::Parameter("x");
const Formula mode = Formula::Parameter("mode");
const Formula on = Formula::Parameter("on");
const Formula order = Formula::Parameter("order");

// a = 12, b = -4, x = 0.5, mode = "fast", on = true, order = ["i", "k", "j"].
const std::vector<int64_t> kConfiguration = {12, -4, 0, 0, 1, 1};

// The value as text, or the error.
std::string ValueText(const Formula& formula) {
  const auto type = CheckFormula(formula, Parameters());
  if (!type.ok()) return std::string(type.status().message());
  const auto value = Evaluate(formula, Parameters(), kConfiguration);
  if (!value.ok()) return value.status().ToString();
  if (TypeOf(*value) != *type) {
    EXPECT_EQ(*type, ValueType::kReal);
    EXPECT_EQ(TypeOf(*value), ValueType::kInteger);
  }
  return ToText(*value);
}

std::string TypeText(const Formula& formula) {
  const auto type = CheckFormula(formula, Parameters());
  return type.ok() ? std::string(Name(*type)) : std::string(type.status().message());
}

TEST(Formula, OperatorsPrintAsText) {
  EXPECT_EQ((a % b == 0 && a * (b + 1) <= 1024).ToText(), "a % b == 0 and a * (b + 1) <= 1024");
  EXPECT_EQ((!(a == b) || on || a < b).ToText(), "not a == b or on or a < b");
  EXPECT_EQ((-a - (b - a) - 1).ToText(), "-a - (b - a) - 1");
  EXPECT_EQ((a / (b * 2) >= 1.5).ToText(), "a / (b * 2) >= 1.5");
  EXPECT_EQ((a != b && a > b).ToText(), "a != b and a > b");
  EXPECT_EQ(Min({a, b, 3}).ToText(), "min(a, b, 3)");
  EXPECT_EQ((Max({a}) + Absolute(b)).ToText(), "max(a) + abs(b)");
  EXPECT_EQ(Power(Power(a, 2), Power(2, -a)).ToText(), "(a ** 2) ** 2 ** -a");
  EXPECT_EQ(FloorDivide(a, CeilDivide(a, b)).ToText(), "a // ceil_div(a, b)");
  EXPECT_EQ(Divides(a, b).ToText(), "divides(a, b)");
  EXPECT_EQ(If(on, a, If(a < b, 1, 2)).ToText(), "a if on else 1 if a < b else 2");
  EXPECT_EQ(If(on, If(on, a, b), 2).ToText(), "(a if on else b) if on else 2");
  EXPECT_EQ((PositionIn(order, "k") == 0).ToText(), R"(position(order, "k") == 0)");
  EXPECT_EQ((mode == "fast").ToText(), R"(mode == "fast")");
  EXPECT_EQ(((a < b) == (b < a)).ToText(), "(a < b) == (b < a)");
}

TEST(Formula, SignsOfConstants) {
  EXPECT_EQ(Formula(-3).ToText(), "-3");
  EXPECT_EQ((-Formula(3)).ToText(), "-(3)");
  EXPECT_EQ((-Formula(-3)).ToText(), "--3");
  EXPECT_EQ(Power(-3, 2).ToText(), "(-3) ** 2");
  EXPECT_EQ((-Power(3, 2)).ToText(), "-3 ** 2");
  EXPECT_EQ((a - Formula(-1.5)).ToText(), "a - -1.5");
}

TEST(Formula, FoldsOverLists) {
  EXPECT_EQ(AllOf({}).ToText(), "true");
  EXPECT_EQ(AllOf({on}).ToText(), "on");
  EXPECT_EQ(AllOf({on, a < b, on}).ToText(), "on and a < b and on");
  EXPECT_EQ(AnyOf({}).ToText(), "false");
  EXPECT_EQ(AnyOf({on}).ToText(), "on");
  EXPECT_EQ(AnyOf({on, a < b}).ToText(), "on or a < b");
  EXPECT_EQ(Product({}).ToText(), "1");
  EXPECT_EQ(Product({a, b, 2}).ToText(), "a * b * 2");
  EXPECT_EQ(Sum({}).ToText(), "0");
  EXPECT_EQ(Sum({a, b, 2}).ToText(), "a + b + 2");
}

TEST(Formula, ConjunctionsGoOnOnTheLeft) {
  EXPECT_EQ((on && on && on).operands().size(), 3);
  EXPECT_EQ((on && (on && on)).ToText(), "on and (on and on)");
  EXPECT_EQ((on || on || on).operands().size(), 3);
}

TEST(Formula, ParametersInOrderOfAppearance) {
  const Formula formula = b * a + b == Min({x, a}) && !on;
  EXPECT_EQ(formula.Parameters(), (std::vector<std::string>{"b", "a", "x", "on"}));
  EXPECT_TRUE(Formula(1).Parameters().empty());
}

TEST(Formula, SharedPartsAreVisitedOnce) {
  Formula formula = a;
  for (int i = 0; i < 200; ++i) formula = formula + formula;
  EXPECT_EQ(formula.Parameters(), std::vector<std::string>{"a"});
  EXPECT_EQ(formula.depth(), 201);
  EXPECT_EQ(formula.size(), kMaxFormulaSize + 1);
  EXPECT_TRUE(IsSame(formula, formula));
}

TEST(Formula, Same) {
  EXPECT_TRUE(IsSame(a + 1, Formula::Parameter("a") + 1));
  EXPECT_FALSE(IsSame(a + 1, a + 1.0));
  EXPECT_FALSE(IsSame(a + 1, a + 2));
  EXPECT_FALSE(IsSame(a + 1, a - 1));
  EXPECT_FALSE(IsSame(a + 1, b + 1));
  EXPECT_FALSE(IsSame(Min({a, b}), Min({a, b, b})));
  const auto holds = [](absl::Span<const int64_t>) { return true; };
  EXPECT_TRUE(IsSame(Formula::Of({"p", holds}, {"a"}), Formula::Of({"p", holds}, {"a"})));
  EXPECT_FALSE(IsSame(Formula::Of({"p", holds}, {"a"}), Formula::Of({"q", holds}, {"a"})));
  EXPECT_FALSE(IsSame(Formula::Of({"p", holds}, {"a"}), Formula::Of({"p", holds}, {"b"})));
}

TEST(Formula, Types) {
  EXPECT_EQ(TypeText(a + b), "integer");
  EXPECT_EQ(TypeText(a + x), "real");
  EXPECT_EQ(TypeText(a / b), "real");
  EXPECT_EQ(TypeText(Min({a, b})), "integer");
  EXPECT_EQ(TypeText(Min({a, x})), "real");
  EXPECT_EQ(TypeText(a == x), "bool");
  EXPECT_EQ(TypeText(If(on, a, x)), "real");
  EXPECT_EQ(TypeText(If(on, mode, "other")), "string");
  EXPECT_EQ(TypeText(order), "permutation");
  EXPECT_EQ(TypeText(PositionIn(order, "k")), "integer");
  EXPECT_EQ(TypeText(Divides(a, b)), "bool");
}

TEST(Formula, PowersAreIntegersUnlessTheExponentCanBeNegative) {
  EXPECT_EQ(TypeText(Power(2, a)), "integer");
  EXPECT_EQ(TypeText(Power(2, a * 2 + PositionIn(order, "i"))), "integer");
  EXPECT_EQ(TypeText(Power(2, Max({b, 0}))), "integer");
  EXPECT_EQ(TypeText(Power(2, b % 3)), "integer");
  EXPECT_EQ(TypeText(Power(2, Absolute(b))), "integer");
  EXPECT_EQ(TypeText(Power(2, Power(2, If(on, a, 1)))), "integer");
  EXPECT_EQ(TypeText(Power(2, b)), "real");
  EXPECT_EQ(TypeText(Power(2, a - 1)), "real");
  EXPECT_EQ(TypeText(Power(2, Min({a, b}))), "real");
  EXPECT_EQ(TypeText(Power(x, 2)), "real");
}

TEST(Formula, TypeErrors) {
  EXPECT_EQ(TypeText(Formula::Parameter("mod") == "fast"),
            "there is no parameter 'mod'; did you mean 'mode'?");
  EXPECT_EQ(TypeText(Formula::Parameter("A") == 1), "there is no parameter 'A'; did you mean 'a'?");
  EXPECT_EQ(TypeText(Formula::Parameter("quite_different") == 1),
            "there is no parameter 'quite_different'");
  EXPECT_EQ(TypeText(a + on), "in 'a + on': + takes numbers, but 'on' is of type bool");
  EXPECT_EQ(TypeText(mode * 2 == a),
            "in 'mode * 2': * takes numbers, but 'mode' is of type string");
  EXPECT_EQ(TypeText(Min({a, mode})),
            "in 'min(a, mode)': min takes numbers, but 'mode' is of type string");
  EXPECT_EQ(TypeText(on && a), "in 'on and a': and takes conditions, but 'a' is of type integer");
  EXPECT_EQ(TypeText(!a), "in 'not a': not takes conditions, but 'a' is of type integer");
  EXPECT_EQ(TypeText(CeilDivide(a, x)),
            "in 'ceil_div(a, x)': ceil_div takes integers, but 'x' is of type real");
  EXPECT_EQ(TypeText(Divides(a / b, a)),
            "in 'divides(a / b, a)': divides takes integers, but 'a / b' is of type real");
  EXPECT_EQ(TypeText(on == 1),
            "in 'on == 1': 'on' is of type bool and '1' of type integer, which do not compare");
  EXPECT_EQ(
      TypeText(mode < a),
      "in 'mode < a': 'mode' is of type string and 'a' of type integer, which do not compare");
  EXPECT_EQ(TypeText(on < on),
            "in 'on < on': < takes numbers or strings, but 'on' is of type bool");
  EXPECT_EQ(TypeText(order < order),
            "in 'order < order': < takes numbers or strings, but 'order' is of type permutation");
  EXPECT_EQ(TypeText(If(a, 1, 2)),
            "in '1 if a else 2': the condition 'a' is of type integer, not bool");
  EXPECT_EQ(TypeText(If(on, 1, "b")),
            "in '1 if on else \"b\"': the choices are of types integer and string");
  EXPECT_EQ(TypeText(PositionIn(mode, "i")),
            "in 'position(mode, \"i\")': position looks into a parameter that is a permutation, "
            "but 'mode' is none");
  EXPECT_EQ(TypeText(PositionIn(order, "l")),
            "in 'position(order, \"l\")': \"l\" is no item of 'order'; did you mean 'i'?");
  EXPECT_EQ(TypeText(Formula(FormulaOp::kPosition, {order, mode})),
            "in 'position(order, mode)': position looks for an item in quotes, but 'mode' is none");
  EXPECT_EQ(TypeText(std::numeric_limits<double>::infinity()), "the constant inf is not finite");
}

TEST(Formula, MalformedTrees) {
  EXPECT_EQ(TypeText(Formula(FormulaOp::kAdd, {a})), "+ does not take 1 operands");
  EXPECT_EQ(TypeText(Formula(FormulaOp::kAnd, {on})), "and does not take 1 operands");
  EXPECT_EQ(TypeText(Min({})), "min does not take 0 operands");
  EXPECT_EQ(TypeText(Formula(FormulaOp::kNot, {on, on})), "not does not take 2 operands");
  EXPECT_EQ(TypeText(Formula(FormulaOp::kIf, {on, on})), "if does not take 2 operands");
  EXPECT_EQ(TypeText(Formula(FormulaOp::kConstant, {on})), "constant does not take 1 operands");
  EXPECT_EQ(TypeText(Formula(FormulaOp::kPredicate, {a + 1})),
            "the predicate '' looks at 'a + 1', which is no parameter");
  EXPECT_EQ(TypeText(Formula::Of({"p", nullptr}, {"a"})), "the predicate 'p' has no function");
  const auto holds = [](absl::Span<const int64_t>) { return true; };
  EXPECT_EQ(TypeText(Formula::Of({"p", holds}, {"order", "ordr"})),
            "there is no parameter 'ordr'; did you mean 'order'?");
}

TEST(Formula, TooLargeOrTooDeep) {
  Formula deep = a;
  for (int i = 0; i < kMaxFormulaDepth; ++i) deep = deep + 1;
  EXPECT_EQ(TypeText(deep), "a formula is 1001 operations deep, but at most 1000 are allowed");
  Formula large = a;
  for (int i = 0; i < 20; ++i) large = large + large;
  EXPECT_EQ(TypeText(large), "a formula has more than 1048576 operations and operands");
}

TEST(Formula, LongPartsAreCutInMessages) {
  std::vector<Formula> terms(100, a);
  const std::string message = TypeText(Sum(terms) + on);
  EXPECT_LT(message.size(), 300);
  EXPECT_NE(message.find("..."), std::string::npos);
}

TEST(Formula, Values) {
  EXPECT_EQ(ValueText(a + b), "8");
  EXPECT_EQ(ValueText(a / b), "-3.0");
  EXPECT_EQ(ValueText(FloorDivide(13, b)), "-4");
  EXPECT_EQ(ValueText(Formula(13) % b), "-3");
  EXPECT_EQ(ValueText(Formula(-13) % 4), "3");
  EXPECT_EQ(ValueText(CeilDivide(13, 4)), "4");
  EXPECT_EQ(ValueText(CeilDivide(-13, 4)), "-3");
  EXPECT_EQ(ValueText(Divides(b, a)), "true");
  EXPECT_EQ(ValueText(Divides(5, a)), "false");
  EXPECT_EQ(ValueText(Power(2, b)), "0.0625");
  EXPECT_EQ(ValueText(Power(2, Max({a, 0}))), "4096");
  EXPECT_EQ(ValueText(Min({a, x, b})), "-4");
  EXPECT_EQ(ValueText(Absolute(b) + Absolute(-x)), "4.5");
  EXPECT_EQ(ValueText(mode == "fast"), "true");
  EXPECT_EQ(ValueText(mode < "g" && mode <= "fast" && mode >= "fast" && !(mode > "fast")), "true");
  EXPECT_EQ(ValueText(PositionIn(order, "k")), "1");
  EXPECT_EQ(ValueText(order == Formula(Value(std::vector<std::string>{"i", "k", "j"}))), "true");
  EXPECT_EQ(ValueText(order != Formula(Value(std::vector<std::string>{"i", "j", "k"}))), "true");
  EXPECT_EQ(ValueText(If(on, a, x)), "12");
  EXPECT_EQ(ValueText(If(!on, a, x)), "0.5");
}

TEST(Formula, DecidesFromLeftToRight) {
  EXPECT_EQ(ValueText(b + 4 != 0 && a % (b + 4) == 0), "false");
  EXPECT_EQ(ValueText(b + 4 == 0 || a % (b + 4) == 0), "true");
  EXPECT_EQ(ValueText(If(b + 4 == 0, 1, a % (b + 4))), "1");
}

TEST(Formula, DivisionByZero) {
  EXPECT_EQ(ValueText(a % (b + 4) == 0),
            "INVALID_ARGUMENT: division by zero in 'a % (b + 4)' with a = 12, b = -4");
  for (const Formula& formula : {a / 0, FloorDivide(a, 0), x / 0, FloorDivide(x, 0.0), x % 0,
                                 CeilDivide(a, 0), a % Formula(0.0)}) {
    EXPECT_NE(ValueText(formula).find("division by zero in "), std::string::npos)
        << formula.ToText();
  }
  EXPECT_EQ(ValueText(Divides(0, a)),
            "INVALID_ARGUMENT: division by zero in 'divides(0, a)' with a = 12");
  EXPECT_EQ(ValueText(Power(0, b)),
            "INVALID_ARGUMENT: power without a value in '0 ** b' with b = -4");
  EXPECT_EQ(ValueText(Power(-2.0, x)),
            "INVALID_ARGUMENT: power without a value in '(-2.0) ** x' with x = 0.5");
  EXPECT_EQ(ValueText(Power(0.0, -x)),
            "INVALID_ARGUMENT: power without a value in '0.0 ** -x' with x = 0.5");
}

TEST(Formula, Overflow) {
  const Formula largest = kLargest;
  const Formula smallest = kSmallest;
  for (const Formula& formula :
       {largest + a, smallest - a, largest * a, -smallest, Absolute(smallest),
        FloorDivide(smallest, -1), CeilDivide(smallest, -1), Power(a, 18), Power(2, 63),
        Power(3, kLargest), Formula(1e308) * a, Formula(1e308) + 1e308, Formula(1e300) / 1e-300,
        Power(1e200, 2), Formula(-1e308) - 1e308}) {
    EXPECT_EQ(ValueText(formula).find("OUT_OF_RANGE: overflow in "), 0)
        << formula.ToText() << ": " << ValueText(formula);
  }
  EXPECT_EQ(ValueText(smallest % -1), "0");
  EXPECT_EQ(ValueText(Divides(-1, smallest)), "true");
  EXPECT_EQ(ValueText(Power(-2, 63)), "-9223372036854775808");
  EXPECT_EQ(ValueText(Power(-1, kLargest)), "-1");
  EXPECT_EQ(ValueText(Power(-1, kLargest - 1)), "1");
  EXPECT_EQ(ValueText(Power(1, kLargest)), "1");
  EXPECT_EQ(ValueText(Power(0, 0)), "1");
}

TEST(Formula, IntegersAndRealsCompareExactly) {
  const Formula exact = int64_t{9007199254740993};
  EXPECT_EQ(ValueText(exact == 9007199254740992.0), "false");
  EXPECT_EQ(ValueText(exact > 9007199254740992.0), "true");
  EXPECT_EQ(ValueText(Formula(kLargest) < 9223372036854775808.0), "true");
  EXPECT_EQ(ValueText(Formula(kSmallest) == -9223372036854775808.0), "true");
  EXPECT_EQ(ValueText(Formula(kSmallest) > -1e300), "true");
  EXPECT_EQ(ValueText(Formula(1e300) > kLargest), "true");
  EXPECT_EQ(ValueText(Formula(-1) > -1.5), "true");
  EXPECT_EQ(ValueText(Formula(1) < 1.5), "true");
}

TEST(Formula, TrueDivisionRoundsOnce) {
  EXPECT_EQ(ValueText(Formula(int64_t{9007199254740993} * 3) / 3), "9007199254740992.0");
  EXPECT_EQ(ValueText(Formula(kLargest) / 1), "9223372036854775808.0");
  EXPECT_EQ(ValueText(Formula(kSmallest) / -1), "9223372036854775808.0");
  EXPECT_EQ(ValueText(Formula(kLargest) / kSmallest), "-1.0");
  EXPECT_EQ(ValueText(Formula(1) / kLargest), "1.0842021724855044e-19");
  EXPECT_EQ(ValueText(Formula(0) / kLargest), "0.0");
}

TEST(Formula, Predicates) {
  const Predicate predicate{
      "a is more than position of order",
      [](absl::Span<const int64_t> codes) { return codes.size() == 2 && codes[1] > codes[0]; }};
  const Formula formula = Formula::Of(predicate, {"order", "a"});
  EXPECT_EQ(TypeText(formula), "bool");
  EXPECT_EQ(ValueText(formula), "true");
  EXPECT_EQ(ValueText(!formula), "false");
  EXPECT_EQ((!formula).ToText(), "not (a is more than position of order)");
}

}  // namespace
}  // namespace mdh::formula_test

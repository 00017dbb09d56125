// Operators that may not be applied in any order are refused with a counterexample.
#include "core/expression/combine_laws.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "tests/error_message.h"

namespace mdh::combine_laws_test {
namespace {

// The message about `g(a, b) -> c <definition>` as a reduction of what f gives for values x of
// `type`, or "no error".
std::string MessageFor(const std::string& type, const std::string& definition,
                       const std::string& f = "x") {
  const std::string message = ErrorMessage(ParseExpression(absl::StrCat(
      "e := out_view<", type, ">( s: (i) -> () ) o md_hom<4>( f, (g) ) o inp_view<", type,
      ">( x: (i) -> (i) )\nwhere f(x) -> s { s = ", f, " },\ng(a, b) -> c ", definition)));
  const std::string line = message.substr(0, message.find('\n'));
  return line == "no error" ? line : line.substr(line.find(": ") + 2);
}

TEST(CombineLawsTest, OrdersThatMatterAreRefused) {
  EXPECT_EQ(MessageFor("fp32", "{ c = a - b }"),
            "combine operator 'g' is not commutative: g(0, 1) is -1, but g(1, 0) is 1");
  EXPECT_EQ(MessageFor("int32", "{ c = a }"),
            "combine operator 'g' is not commutative: g(0, 1) is 0, but g(1, 0) is 1");
  EXPECT_EQ(MessageFor("fp64", "{ c = (a + b) / 2 }"),
            "combine operator 'g' is not associative: g(g(0, 0), 1) is 0.5, but "
            "g(0, g(0, 1)) is 0.25");
  EXPECT_EQ(MessageFor("bool", "{ c = !(a && b) }"),
            "combine operator 'g' is not associative: g(g(false, false), true) is "
            "false, but g(false, g(false, true)) is true");
}

TEST(CombineLawsTest, WrongIdentitiesAreRefused) {
  EXPECT_EQ(MessageFor("fp32", "identity (1) { c = a + b }"),
            "1 is no identity of combine operator 'g': g(1, 0) is 1");
  EXPECT_EQ(MessageFor("uint8", "identity (0) { c = a * b }"),
            "0 is no identity of combine operator 'g': g(0, 1) is 0");
}

TEST(CombineLawsTest, LawfulOperatorsPass) {
  for (const char* type : {"fp16", "bf16", "fp32", "fp64"}) {
    EXPECT_EQ(MessageFor(type, "identity (0) { c = sqrt(a*a + b*b) }", "abs(x)"), "no error");
    EXPECT_EQ(MessageFor(type, "identity (-inf) { c = log(exp(a) + exp(b)) }"), "no error");
    EXPECT_EQ(MessageFor(type, "{ c = a * b / (a + b) }"), "no error");
    EXPECT_EQ(MessageFor(type, "{ c = (a + b) / (1 + a * b) }"), "no error");
  }
  for (const char* type : {"int8", "uint16", "int64"}) {
    EXPECT_EQ(MessageFor(type, "identity (0) { c = a + b - a * b }"), "no error");
    EXPECT_EQ(MessageFor(type, "identity (0) { c = (a + b) % 3 }", "abs(x) % 3"), "no error");
    EXPECT_EQ(MessageFor(type, "{ c = min(a + b, 100) }", "abs(x)"), "no error");
  }
  EXPECT_EQ(MessageFor("bool", "identity (false) { c = a != b }"), "no error");
}

// Laws need to hold for what f gives, not for everything that the types can hold.
TEST(CombineLawsTest, OnlyValuesOfTheFunctionCount) {
  EXPECT_EQ(MessageFor("fp32", "identity (0) { c = sqrt(a*a + b*b) }"),
            "0 is no identity of combine operator 'g': g(0, -2) is 2");
  EXPECT_EQ(MessageFor("int32", "identity (0) { c = (a + b) % 3 }", "abs(x)"),
            "0 is no identity of combine operator 'g': g(0, 3) is 0");
  // Empty parts are combined with each other.
  EXPECT_EQ(MessageFor("fp64", "identity (inf) { c = a * b / (a + b) }", "abs(x) + 1"),
            "inf is no identity of combine operator 'g': g(inf, inf) is nan");
}

std::string MessageForScan(const std::string& dimensions, const std::string& operators) {
  const std::string message = ErrorMessage(ParseExpression(absl::StrCat(
      "e := out_view<fp64,fp64>( s: ", dimensions, " -> ", dimensions, ", t: ", dimensions, " -> ",
      dimensions, " ) o md_hom<", dimensions == "(i)" ? "4" : "4,4", ">( f, (", operators,
      ") ) o inp_view<fp64,fp64>( x: ", dimensions, " -> ", dimensions, ", y: ", dimensions, " -> ",
      dimensions, " ) where f(x, y) -> (s, t) { s = x; t = y }, ",
      "affine(a1, b1, a2, b2) -> (a, b) identity (1, 0) { a = a1 * a2; b = a2 * b1 + b2 }")));
  const std::string line = message.substr(0, message.find('\n'));
  return line == "no error" ? line : line.substr(line.find(": ") + 2);
}

TEST(CombineLawsTest, OnePrefixSumNeedsNoCommutativity) {
  EXPECT_EQ(MessageForScan("(i)", "ps(affine)"), "no error");
  EXPECT_EQ(MessageForScan("(i,j)", "++, ps(affine)"), "no error");
  EXPECT_EQ(MessageForScan("(i,j)", "ps(affine), ps(affine)").substr(0, 48),
            "combine operator 'affine' is not commutative: af");
}

const ScalarFunction& Function(const Expression& expression) {
  return expression.reduction().function();
}

Expression Reduction(const std::string& f, const std::string& g) {
  const Result<Expression> expression = ParseExpression(absl::StrCat(
      "e := out_view<fp64>( s: (i) -> () ) o md_hom<4>( f, (g) ) o inp_view<fp64>( x: (i) -> (i) ) "
      "where f(x) -> s { s = ",
      f, " }, g(a, b) -> c { c = ", g, " }"));
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *expression;
}

TEST(CombineLawsTest, SamplesAreWhatTheFunctionGives) {
  const Expression squares = Reduction("x * x", "a + b");
  const std::vector<ResultTuple> samples = SampleResults(squares.function());
  EXPECT_GE(samples.size(), 8u);
  for (const ResultTuple& sample : samples) EXPECT_GE(sample[0].as_double(), 0);
  EXPECT_EQ(samples, SampleResults(squares.function()));
  EXPECT_TRUE(SampleResults(Reduction("x * inf", "a + b").function()).empty());
}

// Whether values of `type` are combined by g(a, b) in the order of their points only.
bool KeepsOrder(const std::string& type, const std::string& definition, const std::string& f = "x",
                const std::string& combine = "g") {
  const Result<Expression> expression = ParseExpression(absl::StrCat(
      "e := out_view<", type, ">( s: (i) -> (", combine == "g" ? "" : "i", ") ) o md_hom<4>( f, (",
      combine, ") ) o inp_view<", type, ">( x: (i) -> (i) )\nwhere f(x) -> s { s = ", f,
      " },\ng(a, b) -> c ", definition));
  EXPECT_TRUE(expression.ok()) << expression.status();
  return expression.ok() && expression->combine_operators()[0].keeps_order();
}

TEST(CombineLawsTest, ComparisonsThatForgetNanKeepTheOrder) {
  for (const char* type : {"fp16", "bf16", "fp32", "fp64"}) {
    EXPECT_TRUE(KeepsOrder(type, "{ c = a > b ? a : b }"));
    EXPECT_TRUE(KeepsOrder(type, "identity (inf) { c = a < b ? a : b }"));
    EXPECT_TRUE(KeepsOrder(type, "{ c = a > b ? a : b }", "x", "ps(g)"));
    // Not neutral for nan alone: who starts from it loses a nan.
    EXPECT_TRUE(KeepsOrder(type, "identity (-inf) { c = fmax(a, b) }"));
  }
}

TEST(CombineLawsTest, OthersAreFree) {
  for (const char* type : {"fp16", "bf16", "fp32", "fp64"}) {
    EXPECT_FALSE(KeepsOrder(type, "{ c = a + b }"));
    EXPECT_FALSE(KeepsOrder(type, "identity (-inf) { c = max(a, b) }"));
    EXPECT_FALSE(KeepsOrder(type, "identity (nan) { c = fmax(a, b) }"));
    EXPECT_FALSE(KeepsOrder(type, "{ c = a > b || a != a ? a : b }"));
    EXPECT_FALSE(KeepsOrder(type, "{ c = b }", "x", "ps(g)"));
    // f gives no nan.
    EXPECT_FALSE(KeepsOrder(type, "{ c = a > b ? a : b }", "x == x ? x : 0"));
  }
  EXPECT_FALSE(KeepsOrder("int32", "{ c = a > b ? a : b }"));
}

TEST(CombineLawsTest, LawsAreAskedForByTheCaller) {
  const Expression sum = Reduction("x", "a + b");
  const std::vector<ResultTuple> samples = SampleResults(sum.function());
  const auto check = [&](const ScalarFunction& g, Commutativity commutativity,
                         std::optional<double> identity = std::nullopt) {
    std::optional<std::vector<ScalarValue>> values;
    if (identity.has_value()) values = {ScalarValue::Real(ScalarType::kFloat64, *identity)};
    return ErrorMessage(CheckCombineLaws(g, values, commutativity, samples));
  };
  EXPECT_EQ(check(Function(sum), Commutativity::kNeeded, 0), "no error");
  EXPECT_EQ(check(Function(sum), Commutativity::kNeeded, 1),
            "1 is no identity of combine operator 'g': g(1, 0) is 1");
  // Keeps the left one: associative, but not commutative.
  const ScalarFunction left = *ScalarFunction::Create(
      "left", {{"a", ScalarType::kFloat64}, {"b", ScalarType::kFloat64}},
      {{"c", ScalarType::kFloat64}}, {{ScalarOp::kParameter, ScalarType::kFloat64, {}, 0}}, {0});
  EXPECT_EQ(check(left, Commutativity::kNotNeeded), "no error");
  EXPECT_EQ(check(left, Commutativity::kNeeded),
            "combine operator 'left' is not commutative: left(0, 1) is 0, but left(1, 0) is 1");
}

TEST(CombineLawsTest, OperatorsThatInterchangeHaveNoCounterexample) {
  const Expression sum = Reduction("x", "a + b"), largest = Reduction("x", "max(a, b)");
  const std::vector<ResultTuple> samples = SampleResults(sum.function());
  EXPECT_EQ(InterchangeCounterexample(Function(sum), Function(sum), samples), std::nullopt);
  EXPECT_EQ(InterchangeCounterexample(Function(largest), Function(largest), samples), std::nullopt);
  EXPECT_NE(InterchangeCounterexample(Function(sum), Function(largest), samples), std::nullopt);
  EXPECT_EQ(InterchangeCounterexample(Function(sum), Function(largest), {}), std::nullopt);
}

// Lemma 1.
TEST(CombineLawsTest, MixedOperatorsAreRefusedWithACounterexample) {
  const std::string message = MessageForScan("(i,j)", "ps(affine), ps((+, *))");
  EXPECT_NE(message.find("differ, so that the result would depend on which dimension is combined "
                         "first: "),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace mdh::combine_laws_test

// The text form of formulas: spellings, precedence, definitions, and what errors say.
#include "tuner/space/formula/formula_text.h"

#include <gtest/gtest.h>

#include "tests/error_message.h"

namespace mdh::formula_text_test {
namespace {

// How the formula prints, or the error.
std::string Read(std::string_view text,
                 const std::map<std::string, std::string>& definitions = {}) {
  const auto formula = ParseFormula(text, definitions);
  return formula.ok() ? formula->ToText() : std::string(formula.status().message());
}

TEST(FormulaText, Numbers) {
  EXPECT_EQ(Read("42"), "42");
  EXPECT_EQ(Read("0"), "0");
  EXPECT_EQ(Read("0x1F + 0Xff"), "31 + 255");
  EXPECT_EQ(Read("1.5 + .5 + 2. + 1e3 + 1.5E-3 + 2e+2"),
            "1.5 + 0.5 + 2.0 + 1000.0 + 0.0015 + 200.0");
  EXPECT_EQ(Read("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(Read("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Read("-0x8000000000000000"), "-9223372036854775808");
  EXPECT_EQ(Read("1e-400"), "0.0");
}

TEST(FormulaText, OtherConstants) {
  EXPECT_EQ(Read("True or False or true or false"), "true or false or true or false");
  EXPECT_EQ(Read("m == 'fast'"), "m == \"fast\"");
  EXPECT_EQ(Read(R"(m == 'it\'s' or m == "a\\b\"\n\t\r\x41é")"),
            R"(m == "it's" or m == "a\\b\"\n\t\rAé")");
  EXPECT_EQ(Read("order == ['i', \"k\",]"), R"(order == ["i", "k"])");
}

TEST(FormulaText, ArithmeticPrecedence) {
  EXPECT_EQ(Read("a + b * c"), "a + b * c");
  EXPECT_EQ(Read("(a + b) * c"), "(a + b) * c");
  EXPECT_EQ(Read("((a * b)) + (c)"), "a * b + c");
  EXPECT_EQ(Read("a - (b - c) - d"), "a - (b - c) - d");
  EXPECT_EQ(Read("a / b // c % d"), "a / b // c % d");
  EXPECT_EQ(Read("a / (b // c)"), "a / (b // c)");
  EXPECT_EQ(Read("2 ** 3 ** a"), "2 ** 3 ** a");
  EXPECT_EQ(Read("(2 ** 3) ** a"), "(2 ** 3) ** a");
  EXPECT_EQ(Read("-2 ** a"), "-2 ** a");
  EXPECT_EQ(Read("(-2) ** -a"), "(-2) ** -a");
  EXPECT_EQ(Read("-a * b"), "-a * b");
  EXPECT_EQ(Read("-(a * b)"), "-(a * b)");
  EXPECT_EQ(Read("+a + +1"), "a + 1");
  EXPECT_EQ(Read("a--1"), "a - -1");
}

TEST(FormulaText, ConditionsInBothSpellings) {
  EXPECT_EQ(Read("not a == b and c < d or e"), "not a == b and c < d or e");
  EXPECT_EQ(Read("!(a == b) && c < d || e"), "not a == b and c < d or e");
  EXPECT_EQ(Read("!on == off"), "(not on) == off");
  EXPECT_EQ(Read("not not on"), "not not on");
  EXPECT_EQ(Read("not (a or b)"), "not (a or b)");
  EXPECT_EQ(Read("(a or b) and c"), "(a or b) and c");
  EXPECT_EQ(Read("a or b and c"), "a or b and c");
  EXPECT_EQ(Read("a if c else b"), "a if c else b");
  EXPECT_EQ(Read("c ? a : b"), "a if c else b");
  EXPECT_EQ(Read("c ? a : d ? b : e"), "a if c else b if d else e");
  EXPECT_EQ(Read("c ? d ? 1 : 2 : 3"), "(1 if d else 2) if c else 3");
  EXPECT_EQ(Read("(a if c else b) + 1"), "(a if c else b) + 1");
}

TEST(FormulaText, ChainedComparisons) {
  EXPECT_EQ(Read("32 <= a*b <= 1024"), "32 <= a * b and a * b <= 1024");
  EXPECT_EQ(Read("a < b == c != d > e >= f"), "a < b and b == c and c != d and d > e and e >= f");
  EXPECT_EQ(Read("(a < b) == c"), "(a < b) == c");
}

TEST(FormulaText, Membership) {
  EXPECT_EQ(Read("x in (1, 2, 4)"), "x == 1 or x == 2 or x == 4");
  EXPECT_EQ(Read("x in [1, 2]"), "x == 1 or x == 2");
  EXPECT_EQ(Read("x in (1,)"), "x == 1");
  EXPECT_EQ(Read("x + 1 not in (a, b)"), "not (x + 1 == a or x + 1 == b)");
  EXPECT_EQ(Read("0 < x in (1, 2)"), "0 < x and (x == 1 or x == 2)");
  EXPECT_EQ(Read("not x in (1, 2)"), "not (x == 1 or x == 2)");
}

TEST(FormulaText, Functions) {
  EXPECT_EQ(Read("min(a, b, 3) + max(a) + abs(-b)"), "min(a, b, 3) + max(a) + abs(-b)");
  EXPECT_EQ(Read("ceil_div(a, b) == 1 and divides(a, b)"), "ceil_div(a, b) == 1 and divides(a, b)");
  EXPECT_EQ(Read("position(order, 'k') < 2"), R"(position(order, "k") < 2)");
  EXPECT_EQ(Read("min + max"), "min + max");  // parameters of these names
}

TEST(FormulaText, SpacesAndLines) { EXPECT_EQ(Read(" a\n  *\tb "), "a * b"); }

TEST(FormulaText, DefinitionsAreWrittenInPlace) {
  const std::map<std::string, std::string> definitions = {
      {"S", "(T + 2) * 4"}, {"T", "a * b"}, {"N", "1024"}, {"unused", "S"}};
  EXPECT_EQ(Read("S <= N", definitions), "(a * b + 2) * 4 <= 1024");
  EXPECT_EQ(Read("-N", {{"N", "3"}}), "-(3)");
  EXPECT_EQ(Read("2 ** N", {{"N", "-3"}}), "2 ** -3");
}

TEST(FormulaText, LongChainsOfDefinitions) {
  std::map<std::string, std::string> definitions = {{"d0", "a"}};
  for (int i = 1; i < 5000; ++i) {
    definitions["d" + std::to_string(i)] = "d" + std::to_string(i - 1);
  }
  EXPECT_EQ(Read("d4999 + 1", definitions), "a + 1");
}

TEST(FormulaText, ErrorsOfDefinitions) {
  EXPECT_EQ(Read("a", {{"S", "T + 1"}, {"T", "2 * S"}}), "definitions form a cycle: S -> T -> S");
  EXPECT_EQ(Read("a", {{"A", "B"}, {"B", "C"}, {"C", "D"}, {"D", "B + C"}}),
            "definitions form a cycle: B -> C -> D -> B");
  EXPECT_EQ(Read("a", {{"S", "S"}}), "definitions form a cycle: S -> S");
  EXPECT_EQ(Read("a", {{"S", "1 +"}}),
            "in the definition of 'S': column 4: expected a value, but found the end");
  EXPECT_EQ(Read("a", {{"S", "1 + $"}}),
            "in the definition of 'S': column 5: unexpected character '$'");
  EXPECT_EQ(Read("a", {{"if", "1"}}),
            "the name of a definition is a C identifier that is no word of formulas, but 'if' is "
            "given");
  EXPECT_EQ(Read("a", {{"S", std::string(kMaxFormulaLength + 1, ' ')}}),
            "in the definition of 'S': the formula has more than 1048576 bytes");
}

TEST(FormulaText, DefinitionsThatExplode) {
  std::map<std::string, std::string> definitions = {{"d0", "a"}};
  for (int i = 1; i < 64; ++i) {
    const std::string before = "d" + std::to_string(i - 1);
    definitions["d" + std::to_string(i)] = before + " * " + before;
  }
  EXPECT_EQ(
      Read("d63", definitions),
      "in the definition of 'd20': column 10: the formula, with definitions written in place, "
      "has more than 1048576 operations and operands");
}

struct ErrorCase {
  const char* text;
  const char* message;
};

TEST(FormulaText, ErrorsSayWhereAndWhatWasExpected) {
  const ErrorCase cases[] = {
      {"", "column 1: expected a value, but found the end"},
      {"   ", "column 4: expected a value, but found the end"},
      {"a +", "column 4: expected a value, but found the end"},
      {"a + )", "column 5: expected a value, but found ')'"},
      {"a b", "column 3: expected an operator or the end, but found 'b'"},
      {"a 1", "column 3: expected an operator or the end, but found '1'"},
      {"(a + b", "column 7: expected ')', but found the end"},
      {"a + b)", "column 6: expected an operator or the end, but found ')'"},
      {"a * * b", "column 5: expected a value, but found '*'"},
      {"a == not b", "column 6: expected a value, but found 'not'"},
      {"a = b", "column 3: formulas have no operator '='; use '=='"},
      {"a & b", "column 3: formulas have no operator '&'; use 'and'"},
      {"a | b", "column 3: formulas have no operator '|'; use 'or'"},
      {"a ^ b", "column 3: formulas have no operator '^'; use '**'"},
      {"~a", "column 1: formulas have no operator '~'; use 'not'"},
      {"a $ b", "column 3: unexpected character '$'"},
      {"'é' == €", "column 8: unexpected character '€'"},
      {"a; b", "column 2: unexpected character ';'"},
      {"12ab", "column 1: malformed number '12ab'"},
      {"1.2.3", "column 1: malformed number '1.2.3'"},
      {"1e", "column 1: malformed number '1e'"},
      {"012", "column 1: malformed number '012'"},
      {"0x", "column 1: malformed number '0x'"},
      {"1_000", "column 1: malformed number '1_000'"},
      {"1e999", "column 1: the real '1e999' is too large"},
      {"9223372036854775808", "column 1: the integer does not fit into 64 bits"},
      {"-9223372036854775808 ** 2", "column 2: the integer does not fit into 64 bits"},
      {"a * 99999999999999999999",
       "column 5: the integer '99999999999999999999' does not fit into 64 bits; 1e30 would be a "
       "real"},
      {"m == 'fast", "column 6: the string that begins here has no end"},
      {"m == 'fa\nst'", "column 6: the string that begins here has no end"},
      {"m == 'a\\", "column 6: the string that begins here has no end"},
      {"m == 'a\\q'", "column 8: unknown escape '\\\\q' in a string"},
      {"m == 'a\\x4'", "column 8: unknown escape '\\\\x' in a string"},
      {"a if b", "column 7: expected 'else', but found the end"},
      {"a ? b", "column 6: expected ':', but found the end"},
      {"if a", "column 1: expected a value, but found 'if'"},
      {"x in 3", "column 6: expected '(' and the values, but found '3'"},
      {"x in ()", "column 7: expected a value, but found ')'"},
      {"x in (1, 2", "column 11: expected ',' or ')', but found the end"},
      {"x in (1 2)", "column 9: expected ',' or ')', but found '2'"},
      {"x not (1)", "column 7: expected 'in', but found '('"},
      {"x in (1, 2) in (3)", "column 13: expected an operator or the end, but found 'in'"},
      {"[1]", "column 2: expected an item in quotes, but found '1'"},
      {"[]", "column 2: expected an item in quotes, but found ']'"},
      {"['a' 'b']", "column 6: expected ',' or ']', but found ''b''"},
      {"mni(a, b)", "column 1: there is no function 'mni'; did you mean 'min'?"},
      {"ceildiv(a, b)", "column 1: there is no function 'ceildiv'; did you mean 'ceil_div'?"},
      {"1 + sqrt(a)", "column 5: there is no function 'sqrt'"},
      {"min()", "column 5: expected a value, but found ')'"},
      {"abs(a, b)", "column 1: abs takes 1 operand, but 2 are given"},
      {"ceil_div(a)", "column 1: ceil_div takes 2 operands, but 1 is given"},
      {"position(a, 'b', 'c')", "column 1: position takes 2 operands, but 3 are given"},
      {"a(1)(2)", "column 1: there is no function 'a'"},
      {"min(a)(2)", "column 7: expected an operator or the end, but found '('"},
  };
  for (const ErrorCase& c : cases) EXPECT_EQ(Read(c.text), c.message) << c.text;
  EXPECT_EQ(Read(std::string("a \0 b", 5)), "column 3: unexpected character '\\x00'");
}

std::string Repeated(std::string_view piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(FormulaText, NestingHasLimits) {
  const int deepest = kMaxFormulaNesting - 1;
  EXPECT_EQ(Read(Repeated("(", deepest) + "a" + Repeated(")", deepest)), "a");
  for (const char* piece : {"(", "-", "+", "!", "not ", "2 ** ", "1 if a else ", "a ? 1 : ", "min(",
                            "x in (", "-2 ** "}) {
    const std::string message = Read(Repeated(piece, 50'000) + "a");
    EXPECT_NE(message.find("the formula nests more than 200 levels deep"), std::string::npos)
        << piece << ": " << message;
  }
}

TEST(FormulaText, DepthAndLengthHaveLimits) {
  EXPECT_EQ(Read("a" + Repeated(" + a", 999)).size(), 999 * 4 + 1);
  EXPECT_EQ(Read("a" + Repeated("+a", 300'000)),
            "column 2002: the formula, with definitions written in place, is more than 1000 "
            "operations deep");
  EXPECT_EQ(Read(Repeated("a or ", 100'000) + "a").size(), 500'001);
  EXPECT_EQ(Read(std::string(kMaxFormulaLength + 1, ' ')),
            "the formula has 1048577 bytes, but at most 1048576 are allowed");
}

TEST(FormulaText, LongTokensAreCutInErrors) {
  EXPECT_EQ(
      Read("a " + std::string(100'000, 'b')),
      "column 3: expected an operator or the end, but found '" + std::string(40, 'b') + "...'");
  EXPECT_EQ(Read("1" + std::string(100'000, '0')),
            "column 1: the integer '1" + std::string(39, '0') +
                "...' does not fit into 64 bits; 1e30 would be a real");
}

TEST(FormulaText, TwoSteps) {
  const auto definitions = ParseDefinitions({{"S", "a * T"}, {"T", "3"}});
  ASSERT_TRUE(definitions.ok()) << definitions.status();
  EXPECT_EQ(definitions->at("S").ToText(), "a * 3");
  EXPECT_EQ(ParseFormulaOver("S + T", *definitions)->ToText(), "a * 3 + 3");
  EXPECT_EQ(ErrorMessage(ParseFormulaOver("S +", *definitions)),
            "column 4: expected a value, but found the end");
}

}  // namespace
}  // namespace mdh::formula_text_test

// Random formulas print, read back to the same tree, and have the values that Python gives them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/sanitized.h"
#include "tests/tuner/space/random_formula.h"
#include "tuner/space/formula/formula_number.h"
#include "tuner/space/formula/formula_text.h"

namespace mdh::formula_property_test {
namespace {

constexpr ValueType kTypes[] = {ValueType::kBool, ValueType::kInteger, ValueType::kReal,
                                ValueType::kString, ValueType::kPermutation};

// The value as text; "undefined" and "overflow" if there is none.
std::string ValueText(const Formula& formula, const std::vector<int64_t>& configuration) {
  const auto value = Evaluate(formula, RandomFormulas::Parameters(), configuration);
  if (value.ok()) return ToText(*value);
  return absl::IsOutOfRange(value.status()) ? "overflow" : "undefined";
}

TEST(FormulaProperty, PrintsAndReadsBack) {
  RandomFormulas random(1);
  for (int i = 0; i < TriedCases(20'000); ++i) {
    const Formula formula = random.Of(kTypes[i % 5], 1 + i % 6);
    const std::string text = formula.ToText();
    const auto again = ParseFormula(text);
    ASSERT_TRUE(again.ok()) << text << "\n" << again.status();
    ASSERT_TRUE(IsSame(formula, *again)) << text << "\n" << again->ToText();
    const auto configuration = random.Configuration();
    ASSERT_EQ(ValueText(formula, configuration), ValueText(*again, configuration)) << text;
  }
}

TEST(FormulaProperty, ParenthesesThatAreNotNeededChangeNothing) {
  RandomFormulas random(2);
  for (int i = 0; i < 2'000; ++i) {
    const Formula a = random.Of(ValueType::kInteger, 3);
    const Formula b = random.Of(ValueType::kInteger, 3);
    const auto sum = ParseFormula("((" + a.ToText() + ")) + (" + b.ToText() + ")");
    ASSERT_TRUE(sum.ok()) << sum.status();
    ASSERT_TRUE(IsSame(*sum, a + b)) << sum->ToText();
  }
}

// A generated formula has the type that it was made for, and values are of that type.
TEST(FormulaProperty, ValuesAreOfTheCheckedType) {
  RandomFormulas random(3);
  const auto parameters = RandomFormulas::Parameters();
  for (int i = 0; i < 20'000; ++i) {
    const Formula formula = random.Of(kTypes[i % 5], 1 + i % 5);
    const auto type = CheckFormula(formula, parameters);
    ASSERT_TRUE(type.ok()) << formula.ToText() << "\n" << type.status();
    const auto value = Evaluate(formula, parameters, random.Configuration());
    if (!value.ok()) continue;
    const bool is_integer_for_real =
        *type == ValueType::kReal && TypeOf(*value) == ValueType::kInteger;
    ASSERT_TRUE(TypeOf(*value) == *type || is_integer_for_real)
        << formula.ToText() << " = " << ToText(*value) << " is no " << Name(*type);
  }
}

constexpr char kPython[] = R"python(
import builtins, sys
true, false = True, False
def min(*values): return builtins.min(values)
def max(*values): return builtins.max(values)
def ceil_div(a, b): return -(-a // b)
def divides(a, b): return b % a == 0
def position(order, item): return order.index(item)
failures = 0
for line in open(sys.argv[1], encoding='utf-8'):
    values, text, expected = line.rstrip('\n').split('\t')
    if expected == 'overflow':
        continue
    try:
        value = eval(text, dict(globals()), eval(values))
        if isinstance(value, complex):
            value = 'undefined'
    except ZeroDivisionError:
        value = 'undefined'
    ours = 'undefined' if expected == 'undefined' else eval(expected)
    if type(ours) != type(value) or ours != value:
        failures += 1
        print(text, 'with', values, 'is', value, 'but we say', expected)
sys.exit(failures != 0)
)python";

TEST(FormulaProperty, PythonAgrees) {
  if (std::system("python3 -c 'import sys' > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "there is no python3";
  }
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      ("formula_property_" + std::to_string(std::random_device()()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "judge.py") << kPython;
  std::ofstream cases(folder / "cases");
  RandomFormulas random(4);
  const auto parameters = RandomFormulas::Parameters();
  for (int i = 0; i < 10'000; ++i) {
    const Formula formula = random.Of(kTypes[i % 3], 2 + i % 4);
    const auto configuration = random.Configuration();
    cases << "{";
    for (size_t p = 0; p < parameters.size(); ++p) {
      cases << "'" << parameters[p].name
            << "': " << ToText(parameters[p].range.ValueOf(configuration[p])) << ", ";
    }
    cases << "}\t" << formula.ToText() << "\t" << ValueText(formula, configuration) << "\n";
  }
  cases.close();
  const std::string command =
      "python3 '" + (folder / "judge.py").string() + "' '" + (folder / "cases").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove_all(folder);
}

TEST(FormulaProperty, SmallIntegersDivideAsTheyMust) {
  for (int64_t a = -60; a <= 60; ++a) {
    for (int64_t b = -60; b <= 60; ++b) {
      if (b == 0) continue;
      const auto exact = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(FloorQuotient(a, b), static_cast<int64_t>(std::floor(exact)));
      EXPECT_EQ(FloorQuotient(a, b) * b + FloorRemainder(a, b), a);
      Number ceiling;
      ASSERT_EQ(Apply(FormulaOp::kCeilDivide, Number(a), Number(b), &ceiling),
                ArithmeticOutcome::kOk);
      EXPECT_EQ(ceiling.integer, static_cast<int64_t>(std::ceil(exact)));
    }
  }
}

// The quotient of wide integers against the one of 128 bits that is nearest.
TEST(FormulaProperty, TrueDivisionIsNearest) {
  std::mt19937_64 rng(5);
  for (int i = 0; i < 100'000; ++i) {
    const auto a = static_cast<int64_t>(rng() >> (1 + rng() % 60));
    const auto b = static_cast<int64_t>(rng() >> (1 + rng() % 60));
    if (b == 0) continue;
    Number quotient;
    ASSERT_EQ(Apply(FormulaOp::kDivide, Number(a), Number(b), &quotient), ArithmeticOutcome::kOk);
    // Neither neighbour is nearer to a / b; long doubles hold the products of 53 and 63 bits only
    // roughly, but errors are compared with a fused multiplication, which rounds once.
    const auto error = [&](double q) {
      return std::fabs(std::fma(static_cast<long double>(q), static_cast<long double>(-b),
                                static_cast<long double>(a)));
    };
    const double q = quotient.real;
    EXPECT_LE(error(q), error(std::nextafter(q, INFINITY))) << a << " / " << b;
    EXPECT_LE(error(q), error(std::nextafter(q, -INFINITY))) << a << " / " << b;
  }
}

// Whatever bytes come, reading ends with a formula or an error, and a formula reads back.
TEST(FormulaProperty, RandomBytes) {
  const std::string pieces[] = {"a",   "b",      "(",     ")",   "[",    "]",   ",",  "+",
                                "-",   "**",     "/",     "%",   "<",    "==",  " ",  "if",
                                "not", " else ", " and ", "or ", "in",   "min", "1",  "2.5",
                                "1e9", "?",      ":",     "'s'", "\"",   "\\",  "0x", "!",
                                "&&",  "||",     "true",  "9",   "\xc3", "\0",  "\n", "."};
  std::mt19937_64 rng(6);
  int read = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    const size_t length = 1 + rng() % 12;
    for (size_t j = 0; j < length; ++j) {
      if (rng() % 16 == 0) {
        text += static_cast<char>(rng());
      } else {
        text += pieces[rng() % std::size(pieces)];
      }
    }
    const auto formula = ParseFormula(text);
    if (!formula.ok()) continue;
    ++read;
    const auto again = ParseFormula(formula->ToText());
    ASSERT_TRUE(again.ok()) << text << "\n" << formula->ToText() << "\n" << again.status();
    ASSERT_TRUE(IsSame(*formula, *again)) << text << "\n" << formula->ToText();
    static_cast<void>(CheckFormula(*formula, RandomFormulas::Parameters()));
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace mdh::formula_property_test

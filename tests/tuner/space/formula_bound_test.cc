// Bounds that are formulas: of what is open never more than of what is in it.
#include "tuner/space/formula_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/fresh_seed.h"
#include "tests/sanitized.h"
#include "tests/tuner/space/random_formula.h"
#include "tuner/space/formula/formula_text.h"

namespace mdh::formula_bound_test {
namespace {

using Codes = std::vector<std::vector<int64_t>>;

FormulaBound Bound(const std::string& text) {
  const Result<Formula> formula = ParseFormula(text);
  EXPECT_TRUE(formula.ok()) << formula.status();
  return FormulaBound(*formula, RandomFormulas::Parameters());
}

// The parameters' codes, those of a and c replaced.
double Of(const FormulaBound& bound, std::vector<int64_t> a, std::vector<int64_t> c) {
  Codes codes;
  for (const TuningParameter& parameter : RandomFormulas::Parameters()) {
    codes.emplace_back();
    for (uint32_t n = 0; n < parameter.range.size(); ++n) {
      codes.back().push_back(parameter.range.CodeAt(n));
    }
  }
  codes[0] = std::move(a);
  codes[2] = std::move(c);
  return bound.Of(SpansOf(codes));
}

TEST(FormulaBound, IsTheLeastOfWhatIsOpen) {
  const FormulaBound bound = Bound("100 / c + a * 2");
  EXPECT_EQ(Of(bound, {3}, {4}), 31);
  EXPECT_EQ(Of(bound, {5, 3, 7}, {4}), 31);
  EXPECT_EQ(Of(bound, {3}, {1, 4, 10}), 16);
  EXPECT_EQ(Of(bound, {0, 12}, {64, 1}), 100.0 / 64);
  EXPECT_EQ(Of(Bound("c if on else 4 * c"), {0}, {4, 7}), 4);
  EXPECT_EQ(Of(Bound("17"), {0, 1}, {4, 7}), 17);
}

TEST(FormulaBound, SaysNothingWhereItHasNoValue) {
  EXPECT_EQ(Of(Bound("100 // a"), {0}, {4}), 0);
  EXPECT_EQ(Of(Bound("100 // a"), {0, 2}, {4}), 0);
  EXPECT_EQ(Of(Bound("100 // a"), {1, 2}, {4}), 50);
  EXPECT_EQ(Of(Bound("c - 50"), {0}, {4}), 0);
}

// Orders that are computed are no operations: then only whole configurations have a bound.
TEST(FormulaBound, OfEveryRandomFormulaIsBelowItsValues) {
  RandomFormulas random(FreshSeed());
  const std::vector<TuningParameter> parameters = RandomFormulas::Parameters();
  for (int n = 0; n < TriedCases(5'000); ++n) {
    const Formula formula =
        random.Of(n % 2 == 0 ? ValueType::kInteger : ValueType::kReal, 1 + n % 5);
    const FormulaBound bound(formula, parameters);
    const std::vector<int64_t> configuration = random.Configuration();
    Codes codes;
    for (const TuningParameter& parameter : parameters) {
      codes.emplace_back();
      for (uint32_t p = 0; p < parameter.range.size(); ++p) {
        codes.back().push_back(parameter.range.CodeAt(p));
      }
    }
    double before = bound.Of(SpansOf(codes));
    // Half of the values of one parameter, then its own alone.
    for (size_t p = 0; p < parameters.size(); ++p) {
      for (const bool is_half : {true, false}) {
        std::erase_if(codes[p], [&](int64_t code) {
          return code != configuration[p] && (!is_half || random.Below(2) == 0);
        });
        const double after = bound.Of(SpansOf(codes));
        ASSERT_GE(after, before) << formula.ToText();
        before = after;
      }
    }
    const Result<Value> value = Evaluate(formula, parameters, configuration);
    // Where integers overflow, reals need not.
    if (!value.ok()) continue;
    const double expected = std::holds_alternative<double>(*value)
                                ? std::get<double>(*value)
                                : static_cast<double>(std::get<int64_t>(*value));
    ASSERT_NEAR(before, std::max(0.0, expected), 1e-12 * std::abs(expected)) << formula.ToText();
  }
}

}  // namespace
}  // namespace mdh::formula_bound_test

// Functions in which alternatives that exclude each other are computed once.
#include "codegen/program/shared_alternatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "core/text/parser.h"
#include "tests/shipped_expression.h"

namespace mdh::shared_alternatives_test {
namespace {

int64_t Exponentials(const ScalarFunction& function) {
  return std::ranges::count_if(function.instructions(), [](const ScalarInstruction& one) {
    return one.op == ScalarOp::kExp || one.op == ScalarOp::kExp2;
  });
}

// Of two numbers, a and b, and what they scale.
ScalarFunction Combination(const std::string& body) {
  const Result<Expression> expression = ParseExpression(absl::Substitute(R"(
e := out_view<fp32,fp32>( y: (i) -> (i), z: (i) -> (i) ) o
  md_hom<3>( f, (++) ) o
  inp_view<fp32,fp32,fp32,fp32>( a: (i) -> (i), s: (i) -> (i), b: (i) -> (i), t: (i) -> (i) )
where f(a, s, b, t) -> (m, r) { $0 })",
                                                                         body));
  EXPECT_TRUE(expression.ok()) << expression.status();
  return expression->function();
}

// Bit for bit, nans alike, on all pairs of special and other values.
void ExpectSame(const ScalarFunction& function, const ScalarFunction& shared) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f,   -0.0f, 1.5f,      -2.25f,     87.0f,        -103.5f,
                                     1e-40f, 3e38f, kInfinity, -kInfinity, std::nanf("")};
  const auto real = [](float value) { return ScalarValue::Real(ScalarType::kFloat32, value); };
  for (const float a : values) {
    for (const float b : values) {
      const std::vector<ScalarValue> arguments = {real(a), real(0.75f), real(b), real(3)};
      const std::vector<ScalarValue> expected = function.Evaluate(arguments);
      const std::vector<ScalarValue> found = shared.Evaluate(arguments);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t r = 0; r < found.size(); ++r) {
        const double x = found[r].as_double(), y = expected[r].as_double();
        EXPECT_TRUE(found[r] == expected[r] || (x != x && y != y))
            << a << ", " << b << ": " << x << " instead of " << y;
      }
    }
  }
}

TEST(SharedAlternatives, ExponentialsOfSoftMaxAreComputedOnce) {
  for (const char* name : {"log_sum_exp.mdh", "softmax_stats.mdh"}) {
    const ScalarFunction function = Shipped(name).reduction().function();
    const ScalarFunction shared = ShareAlternatives(function);
    EXPECT_EQ(Exponentials(function), 2) << name;
    EXPECT_EQ(Exponentials(shared), 1) << name;
    ExpectSame(function, shared);
  }
}

TEST(SharedAlternatives, AllKindsOfExtremesAndOrders) {
  for (const char* extreme : {"max(a, b)", "min(b, a)", "fmax(a, b)", "fmin(a, b)"}) {
    for (const char* pair : {"s * (a == m0 ? 1 : exp(a - m0)) + t * (b == m0 ? 1 : exp(b - m0))",
                             "t * (m0 == b ? 2 : exp2(m0 - b)) - s * (a == m0 ? 3 : exp2(m0 - a))",
                             "s * (a == m0 ? 1 : exp(exp(a) - m0 * t)) + "
                             "t * (b == m0 ? 1 : exp(exp(b) - m0 * t))"}) {
      const ScalarFunction function =
          Combination(absl::Substitute("let m0 = $0; m = m0; r = $1", extreme, pair));
      const ScalarFunction shared = ShareAlternatives(function);
      EXPECT_EQ(Exponentials(shared) * 2, Exponentials(function)) << extreme << ", " << pair;
      ExpectSame(function, shared);
    }
  }
}

TEST(SharedAlternatives, OthersStayAsTheyAre) {
  for (const char* body :
       {"let m0 = max(a, s); m = m0; r = (a == m0 ? 1 : exp(a - m0)) + (b == m0 ? 1 : exp(b - m0))",
        "let m0 = a + b; m = m0; r = (a == m0 ? 1 : exp(a - m0)) + (b == m0 ? 1 : exp(b - m0))",
        "let m0 = max(a, b); m = m0; r = (a == m0 ? 1 : exp(a - m0)) + (b == m0 ? 1 : exp(b + m0))",
        "let m0 = max(a, b); m = m0; r = (a == m0 ? 1 : exp(a - m0)) + (b == a ? 1 : exp(b - m0))",
        "let m0 = max(a, b); m = m0; r = (a == m0 ? exp(a) : 1) + (b == m0 ? exp(b) : 1)",
        "let m0 = max(a, b); m = m0; r = (a == m0 ? 1 : a - m0) + (b == m0 ? 1 : b - m0)"}) {
    const ScalarFunction function = Combination(body);
    EXPECT_EQ(ShareAlternatives(function).instructions(), function.instructions()) << body;
  }
}

}  // namespace
}  // namespace mdh::shared_alternatives_test

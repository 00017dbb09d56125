// Factors of contractions in store functions.
#include "core/expression/store_factor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/fresh_seed.h"
#include "tests/random_contraction.h"
#include "tests/sanitized.h"
#include "tests/shipped_expression.h"

namespace mdh::store_factor_test {
namespace {

using ::testing::HasSubstr;

Expression Stored(const Expression& expression) {
  const Result<ContractionForm> form = FindContractionForm(expression);
  EXPECT_TRUE(form.ok()) << form.status() << ToText(expression);
  Result<Expression> stored = WithFactorStored(expression, *form);
  EXPECT_TRUE(stored.ok()) << stored.status() << ToText(expression);
  return *std::move(stored);
}

// The same values at all points; the sign of a sum that is zero may differ.
void ExpectSame(const Expression& stored, const Expression& expression,
                const std::vector<BufferBytes>& inputs) {
  std::vector<const std::byte*> bytes;
  for (const BufferBytes& input : inputs) bytes.push_back(input.data());
  std::vector<int64_t> point(expression.rank());
  for (int64_t p = 0; p < expression.result_points(); ++p) {
    int64_t rest = p;
    for (int d = 0; d < expression.rank(); ++d) {
      if (expression.is_reduction(d)) continue;
      point[d] = rest % expression.dimensions()[d].size;
      rest /= expression.dimensions()[d].size;
    }
    const std::vector<ScalarValue> got = InterpretAt(stored, bytes, point),
                                   expected = InterpretAt(expression, bytes, point);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t r = 0; r < got.size(); ++r) {
      ASSERT_EQ(got[r].as_double(), expected[r].as_double())
          << ToText(expression) << ToText(stored);
    }
  }
}

TEST(StoreFactorTest, Sddmm) {
  const std::string text = ToText(Stored(Shipped("sddmm.mdh")));
  EXPECT_THAT(text, HasSubstr("store store<fp64>( S: (i,j,k) -> (i, j) )"));
  EXPECT_THAT(text, HasSubstr("{ P = A * B }"));
  EXPECT_THAT(text, HasSubstr("store(sum, x1) -> P { P = sum * x1 }"));
}

TEST(StoreFactorTest, WithoutAFactorNothingChanges) {
  const Expression product = Shipped("conv_bn_relu.mdh");
  EXPECT_EQ(ToText(Stored(product)), ToText(product));
}

// The factor depends on an index and on a record, and there is a store function already.
TEST(StoreFactorTest, BeforeAStoreFunction) {
  const Result<Expression> expression = ParseExpression(R"(
    c := out_view<fp32,fp32>( y: (i,j,k) -> (i,j), z: (i,j,k) -> (j,i) ) o
      md_hom<9,7,5>( f, (++, ++, +), store s<fp32>( w: (i,j,k) -> (j) ) ) o
      inp_view<fp16,fp16,{u: fp32, v: fp32},fp32>(
        A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j), S: (i,j,k) -> (i,j), w: (i,j,k) -> (i + j) )
    where f(A, B, S, w) -> (c: fp32) { c = fp32(A) * fp32(j + 1) * fp32(B) * S.v * w },
          s(c, w) -> (y: fp32, z: fp32) { y = c + w; z = c * fp32(i) })");
  ASSERT_TRUE(expression.ok()) << expression.status();
  const Expression stored = Stored(*expression);
  EXPECT_FALSE(FindContractionForm(stored)->factor.has_value());
  Rng rng(3);
  const std::vector<BufferBytes> inputs = RandomInputs(rng, *expression);
  ExpectSame(stored, *expression, inputs);
}

TEST(StoreFactorTest, RandomContractions) {
  Rng rng(FreshSeed());
  int with_factor = 0;
  for (int n = 0; n < TriedCases(150); ++n) {
    const Expression expression = RandomContraction(rng, {.max_points = 500});
    if (!FindContractionForm(expression)->factor.has_value()) continue;
    ++with_factor;
    const Expression stored = Stored(expression);
    EXPECT_FALSE(FindContractionForm(stored)->factor.has_value()) << ToText(stored);
    ASSERT_EQ(stored.passed_inputs().size(), expression.passed_inputs().size());
    const std::vector<BufferBytes> inputs = RandomInputs(rng, expression);
    ExpectSame(stored, expression, inputs);
    const Result<Expression> parsed = ParseExpression(ToText(stored));
    EXPECT_TRUE(parsed.ok()) << parsed.status() << ToText(stored);
  }
  if (!kIsSanitized) {
    EXPECT_GT(with_factor, 10);
  }
}

}  // namespace
}  // namespace mdh::store_factor_test

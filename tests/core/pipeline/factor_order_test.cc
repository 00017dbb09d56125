// Products whose factors points of a tile share.
#include "core/pipeline/factor_order.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/substitute.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fresh_seed.h"
#include "tests/random_contraction.h"

namespace mdh::factor_order_test {
namespace {

using ::testing::ElementsAre;

// Matricized tensor times Khatri-Rao product.
Expression Mttkrp(const std::string& f = "B * D * C", const std::string& combine = "+") {
  return *ParseExpression(absl::Substitute(
      "mttkrp := out_view<fp32>( A: (i,j,k,l) -> (i,j) ) o md_hom<64,64,64,64>( f, (++, ++, $1, "
      "$1) ) "
      "o inp_view<fp32,fp32,fp32>( B: (i,j,k,l) -> (i,k,l), C: (i,j,k,l) -> (k,j), D: (i,j,k,l) -> "
      "(l,j) ) where f(B, C, D) -> (A: fp32) { A = $0 }",
      f, combine));
}

// Dimensions on which f's multiplications depend, in their order.
std::vector<DimensionSet> Multiplied(const Expression& expression, const ScalarFunction& f) {
  std::vector<DimensionSet> of_values, multiplied;
  for (const ScalarInstruction& instruction : f.instructions()) {
    DimensionSet set = 0;
    if (instruction.op == ScalarOp::kParameter) {
      set = DimensionsOfParameter(expression, instruction.parameter);
    }
    for (const int operand : instruction.operands) set |= of_values[operand];
    of_values.push_back(set);
    if (instruction.op == ScalarOp::kMul) multiplied.push_back(set);
  }
  return multiplied;
}

constexpr DimensionSet kI = 1, kJ = 2, kK = 4, kL = 8;

TEST(FactorOrder, WhatDoesNotDependOnAllOfATileIsMultipliedFirst) {
  const Expression e = Mttkrp();
  const auto order = FactorOrder::Of(e, NumericsPolicy::kReassociate);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->AsWritten(), 2);
  EXPECT_EQ(order->PerPoint({8, 4, 1, 1}), 1 + 1.0 / 8);
  EXPECT_THAT(Multiplied(e, order->Function({8, 4, 1, 1})),
              ElementsAre(kJ | kK | kL, kI | kJ | kK | kL));
  // As it is written each of four points multiplies twice; so they do in any order.
  EXPECT_EQ(order->PerPoint({1, 4, 1, 1}), 2);
  EXPECT_THAT(Multiplied(e, order->Function({1, 4, 1, 1})),
              ElementsAre(kI | kJ | kK | kL, kI | kJ | kK | kL));
  // Where it is written that way it stays.
  const Expression best = Mttkrp("B * (C * D)");
  EXPECT_EQ(FunctionInTile(best, NumericsPolicy::kReassociate, {8, 4, 1, 1}).instructions().size(),
            best.function().instructions().size());
}

TEST(FactorOrder, FactorsThatAreComputedStayWhole) {
  const Expression e = Mttkrp("3 * exp(B) * D * (C - 1)");
  const ScalarFunction f = FunctionInTile(e, NumericsPolicy::kReassociate, {8, 4, 1, 1});
  // 3 is multiplied with exp(B).
  EXPECT_THAT(Multiplied(e, f), ElementsAre(kI | kK | kL, kJ | kK | kL, kI | kJ | kK | kL));
  const auto value = [](float v) { return ScalarValue::Real(ScalarType::kFloat32, v); };
  const std::vector<ScalarValue> arguments = {value(0), value(5), value(2)};
  EXPECT_EQ(f.Evaluate(arguments), e.function().Evaluate(arguments));
}

TEST(FactorOrder, OnlyProductsThatMayBeReorderedAre) {
  EXPECT_TRUE(FactorOrder::Of(Mttkrp(), NumericsPolicy::kTf32).has_value());
  EXPECT_FALSE(FactorOrder::Of(Mttkrp(), NumericsPolicy::kExactOrder).has_value());
  EXPECT_FALSE(FactorOrder::Of(Mttkrp(), NumericsPolicy::kFixedTree).has_value());
  EXPECT_FALSE(FactorOrder::Of(Mttkrp("B * D + C"), NumericsPolicy::kReassociate).has_value());
  EXPECT_FALSE(FactorOrder::Of(Mttkrp("B * D * C", "max"), NumericsPolicy::kReassociate));
}

TEST(FactorOrder, RandomProductsHaveTheSameValuesAndNoMoreMultiplications) {
  const uint64_t seed = FreshSeed();
  for (uint64_t n = 0; n < 300; ++n) {
    SCOPED_TRACE(n);
    Rng rng(seed + n);
    const Pipeline product = RandomProduct(rng);
    const Expression& e = product.steps()[0].expression;
    const auto order = FactorOrder::Of(e, NumericsPolicy::kReassociate);
    if (!order) continue;
    std::vector<int64_t> tile;
    double points = 1;
    for (int d = 0; d < e.rank(); ++d) {
      tile.push_back(e.is_reduction(d) ? 1 : static_cast<int64_t>(1 + rng() % 8));
      points *= static_cast<double>(tile.back());
    }
    const ScalarFunction f = order->Function(tile);
    std::vector<ScalarValue> arguments;
    for (const TypedName& parameter : e.function().parameters()) {
      arguments.push_back(
          ScalarValue::Integer(parameter.type, static_cast<int64_t>(rng() % 19) - 9));
    }
    EXPECT_EQ(f.Evaluate(arguments), e.function().Evaluate(arguments));
    // Multiplications of several factors, each once for the points that share it.
    const auto count = [&](const ScalarFunction& function) {
      double multiplications = 0;
      for (const DimensionSet set : Multiplied(e, function)) {
        double own = 1;
        for (const int d : Members(set)) own *= static_cast<double>(tile[d]);
        multiplications += own;
      }
      return multiplications;
    };
    EXPECT_LE(count(f), count(e.function()));
    EXPECT_LE(order->PerPoint(tile), order->AsWritten());
    EXPECT_LE(order->PerPoint(tile) * points, count(f) + 1e-9);
  }
}

}  // namespace
}  // namespace mdh::factor_order_test

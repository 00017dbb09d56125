// Matrix instructions for expressions.
#include "codegen/program/contraction_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/text/parser.h"
#include "tests/shipped_expression.h"

namespace mdh::contraction_units_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> NamesOfUnits(const Expression& expression, UnitArithmetic arithmetic) {
  std::vector<std::string> names;
  for (const UnitOfContraction& unit : UnitsOf(expression, *FindContractionForm(expression))) {
    if (unit.arithmetic == arithmetic) names.push_back(unit.instruction->name);
  }
  return names;
}

// C[i,j] of these operands, widened to what is combined.
Expression Product(const std::string& a, const std::string& b, const std::string& combined) {
  const std::string text =
      "c := out_view<" + combined +
      ">( C: (i,j,k) -> (i,j) ) o md_hom<128,128,64>( f, (++,++,+) ) " + "o inp_view<" + a + "," +
      b + ">( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> " + "(C: " + combined +
      ") { C = " + combined + "(A) * " + combined + "(B) }";
  Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status() << text;
  return *std::move(expression);
}

TEST(ContractionUnitsTest, ByTypes) {
  EXPECT_THAT(NamesOfUnits(Product("bf16", "bf16", "fp32"), UnitArithmetic::kRounded),
              ElementsAre("mma.m16n8k16.bf16", "mma.m16n8k8.tf32", "mma.m8n8k4.f64",
                          "mma.m16n8k4.f64", "mma.m16n8k8.f64", "mma.m16n8k16.f64",
                          "wgmma.m64n8k16.bf16", "wgmma.m64n8k8.tf32", "tcgen05.m128n8k16.bf16",
                          "tcgen05.m128n8k8.tf32", "dot.m1n16k2.bf16", "amx.m16n16k32.bf16"));
  const Expression single = Shipped("matmul.mdh");
  EXPECT_THAT(
      NamesOfUnits(single, UnitArithmetic::kRounded),
      ElementsAre("mma.m8n8k4.f64", "mma.m16n8k4.f64", "mma.m16n8k8.f64", "mma.m16n8k16.f64"));
  EXPECT_THAT(NamesOfUnits(single, UnitArithmetic::kReduced),
              ElementsAre("mma.m16n8k8.tf32", "wgmma.m64n8k8.tf32", "tcgen05.m128n8k8.tf32"));
  EXPECT_THAT(
      NamesOfUnits(Shipped("mttkrp.mdh"), UnitArithmetic::kRounded),
      ElementsAre("mma.m8n8k4.f64", "mma.m16n8k4.f64", "mma.m16n8k8.f64", "mma.m16n8k16.f64"));
  EXPECT_THAT(NamesOfUnits(Product("int8", "int8", "int32"), UnitArithmetic::kExact),
              Contains("wgmma.m64n8k32.s8"));
  EXPECT_THAT(NamesOfUnits(Product("int16", "int16", "int32"), UnitArithmetic::kExact), IsEmpty());
}

TEST(ContractionUnitsTest, SidesAreSwappedWhereOnlyThatFits) {
  const auto swaps = [](const Expression& e, const std::string& name) {
    for (const UnitOfContraction& unit : UnitsOf(e, *FindContractionForm(e))) {
      if (unit.instruction->name == name) return unit.swaps_sides ? "swapped" : "straight";
    }
    return "none";
  };
  EXPECT_STREQ(swaps(Product("uint8", "int8", "int32"), "dot.m1n16k4.u8.s8"), "straight");
  EXPECT_STREQ(swaps(Product("int8", "uint8", "int32"), "dot.m1n16k4.u8.s8"), "swapped");
  EXPECT_STREQ(swaps(Product("int8", "int8", "int32"), "dot.m1n16k4.u8.s8"), "none");
}

TEST(ContractionUnitsTest, Peaks) {
  const DeviceDescription h100 = *DescribeCudaArchitecture(90);
  EXPECT_EQ(UnitPeak(Product("bf16", "bf16", "fp32"), h100, 1e9), 2.0 * 2048 * 132 * 1e9);
  EXPECT_EQ(UnitPeak(Shipped("mttkrp.mdh"), h100, 1e9), 2.0 * 128 * 132 * 1e9);
  // What is computed of bf16 in fp32, and has values of bf16.
  const Expression positive = *ParseExpression(
      "e<T = bf16 | I = 64, J = 64, K = 64> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o\n"
      "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
      "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n"
      "where f(A, B) -> (C: fp32) { C = max(fp32(A), 0) * fp32(B) }\n");
  EXPECT_EQ(UnitPeak(positive, h100, 1e9), 2.0 * 2048 * 132 * 1e9);
  // In fp64; in tf32 only on request.
  EXPECT_EQ(UnitPeak(Shipped("matmul.mdh"), h100, 1e9), 2.0 * 128 * 132 * 1e9);
  EXPECT_EQ(UnitPeak(Shipped("dot_bf16.mdh"), h100, 1e9), 0);
  EXPECT_EQ(UnitPeak(Product("bf16", "bf16", "fp32"), DeviceDescription(), 1e9), 0);
}

TEST(ContractionUnitsTest, Truncation) {
  EXPECT_TRUE(MayTruncate(Product("fp16", "fp16", "fp32")));
  EXPECT_FALSE(MayTruncate(Shipped("matmul.mdh")));
  EXPECT_FALSE(MayTruncate(Shipped("mttkrp.mdh")));
  EXPECT_FALSE(MayTruncate(Product("int8", "int8", "int32")));
  EXPECT_FALSE(MayTruncate(Shipped("dot_bf16.mdh")));
}

}  // namespace
}  // namespace mdh::contraction_units_test

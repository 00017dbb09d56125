// Which contractions dot instructions compute, and the constraints on their tiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/decomposition/dot_plan.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"
#include "tests/error_message.h"

namespace mdh::validate_dot_test {
namespace {

using ::testing::HasSubstr;

Expression Product(const std::string& a, const std::string& b, const std::string& sum,
                   const std::string& product) {
  const std::string text = absl::StrCat(
      "product<T = ", sum, " | I = 16, J = 32, K = 22> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n",
      "md_hom<I,J,K>( f, (++, ++, +) ) o inp_view<", a, ",", b,
      ">( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = ", product, " }");
  Result<Expression> expression = ParseExpression(text, {});
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

Expression Halves() { return Product("bf16", "bf16", "fp32", "fp32(A) * fp32(B)"); }
Expression Bytes() { return Product("int8", "uint8", "int32", "int32(A) * int32(B)"); }

DeviceDescription Device(const std::string& isa) {
  DeviceDescription device;
  device.isa = isa;
  device.simd_bytes = 64;
  device.features = FeaturesOf(device);
  device.compiler = "gcc";
  return device;
}

std::string ValidateText(const Expression& expression, const std::string& tiles,
                         const std::string& rest,
                         const std::string& isa = "avx512_bf16 avx512_vnni") {
  const std::string inputs =
      rest.find("inputs=") == std::string::npos ? "; inputs=in_place:0,1:-1|in_place:0,1:-1" : "";
  const std::string text =
      absl::StrCat("model=OpenMP+SIMD+RM; tile=", tiles,
                   "; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2", inputs, "; ", rest);
  const auto parameters = ParseTuningParameters(text, expression);
  if (!parameters.ok()) return ErrorMessage(parameters);
  return ErrorMessage(Validate(expression, OpenMpSimdRegistersModel(), Device(isa), *parameters));
}

constexpr char kTiles[] = "16,32,22|16,32,22|16,32,22|4,32,4|1,16,1|1,1,1";

TEST(DotPlanTest, WordsOfHalvesAndOfBytes) {
  const Result<DotPlan> halves = PlanDot(Halves(), 2);
  ASSERT_TRUE(halves.ok()) << halves.status();
  EXPECT_EQ(halves->group, 2);
  EXPECT_FALSE(halves->is_bytes());
  const Result<DotPlan> bytes = PlanDot(Bytes(), 2);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(bytes->group, 4);
  EXPECT_EQ(WordDimension(Bytes(), *bytes, bytes->a), 1);
  EXPECT_EQ(WordDimension(Bytes(), *bytes, bytes->b), 0);
  const std::optional<DotSides> sides = SidesOf(Bytes(), *bytes, 1);
  ASSERT_TRUE(sides.has_value());
  EXPECT_FALSE(sides->flips_broadcast);
  EXPECT_FALSE(sides->vector_is_signed);
  EXPECT_FALSE(SidesOf(Bytes(), *bytes, 2).has_value());
  const Expression alike = Product("int8", "int8", "int32", "int32(A) * int32(B)");
  EXPECT_TRUE(SidesOf(alike, *PlanDot(alike, 2), 0)->flips_broadcast);
}

TEST(DotPlanTest, InstructionsAreThoseOfTheDevice) {
  const DotPlan halves = *PlanDot(Halves(), 2), bytes = *PlanDot(Bytes(), 2);
  EXPECT_EQ(DotInstructionFor(halves, Device("avx512_bf16"))->name, "dot.m1n16k2.bf16");
  EXPECT_EQ(DotInstructionFor(bytes, Device("avx512_bf16")), nullptr);
  EXPECT_EQ(DotInstructionFor(bytes, Device("avx_vnni"))->name, "dot.m1n8k4.u8.s8");
  EXPECT_EQ(DotInstructionFor(bytes, Device("avx_vnni avx512_vnni"))->n, 16);
  DeviceDescription without = Device("avx512_bf16");
  without.features.dot_products = false;
  EXPECT_EQ(DotInstructionFor(halves, without), nullptr);
}

TEST(DotPlanTest, SaysWhatKeepsAnExpressionFromIt) {
  EXPECT_THAT(ErrorMessage(PlanDot(Halves(), 1)),
              HasSubstr("j is no dimension that both operands have and that is reduced"));
  EXPECT_THAT(ErrorMessage(PlanDot(Product("fp16", "fp16", "fp32", "fp32(A) * fp32(B)"), 2)),
              HasSubstr("operands are of types fp16 and fp16"));
  EXPECT_THAT(ErrorMessage(PlanDot(Product("int8", "int8", "int64", "int64(A) * int64(B)"), 2)),
              HasSubstr("sums are of type int64"));
  EXPECT_THAT(
      ErrorMessage(PlanDot(Product("bf16", "bf16", "fp32", "max(fp32(A), 0) * fp32(B)"), 2)),
      HasSubstr("an operand is computed"));
}

TEST(ValidateDotTest, Constraints) {
  EXPECT_EQ(ValidateText(Halves(), kTiles, "dot=3"), "no error");
  EXPECT_EQ(ValidateText(Bytes(), kTiles, "dot=3"), "no error");
  EXPECT_THAT(ValidateText(Halves(), kTiles, "dot=3", "avx2"),
              HasSubstr("the device has no dot instructions"));
  EXPECT_THAT(ValidateText(Bytes(), kTiles, "dot=3", "avx512_bf16"),
              HasSubstr("the device has no dot instructions for int8"));
  EXPECT_THAT(ValidateText(Halves(), kTiles, "dot=9"),
              HasSubstr("it is no dimension that both operands have"));
  EXPECT_THAT(ValidateText(Halves(), "16,32,22|16,32,22|16,32,22|4,32,3|1,16,1|1,1,1", "dot=3"),
              HasSubstr("tiles of dimension k must be multiples of 2, not 3"));
  EXPECT_THAT(ValidateText(Halves(), "16,32,22|16,32,22|16,32,22|4,32,4|1,1,1|1,1,1", "dot=3"),
              HasSubstr("dot=3 needs lanes along a dimension of one operand"));
  EXPECT_THAT(ValidateText(Halves(), kTiles, "dot=3; inputs=in_place:0,1:-1|whole:0,1:0"),
              HasSubstr("a copy of B needs an index of its own, which no strips are along, for k"));
  EXPECT_THAT(ValidateText(Halves(), kTiles, "dot=3; numerics=exact"),
              HasSubstr("fixes the order in which values combine"));
}

// ---- Tile registers ----

constexpr char kWithTiles[] = "avx512_bf16 avx512_vnni amx_bf16 amx_int8";
constexpr char kOfTiles[] = "16,32,22|16,32,22|16,32,22|16,32,22|1,16,1|1,1,1";

std::string TilesText(const std::string& tiles, const std::string& rest,
                      const std::string& inputs = "in_place:0,1:-1|whole:1,0:1",
                      const std::string& isa = kWithTiles) {
  return ValidateText(Halves(), tiles,
                      absl::StrCat("inputs=", inputs, "; dot=3; dot_unit=tiles", rest), isa);
}

TEST(DotPlanTest, RowsOfTilesAreAlongTheLongestDimension) {
  const Result<DotPlan> plan = PlanDot(Halves(), 2);
  const Result<DotTiles> tiles = PlanTiles(Halves(), *plan, 1, {16, 32, 22});
  ASSERT_TRUE(tiles.ok()) << tiles.status();
  EXPECT_EQ(tiles->rows, 0);
  EXPECT_EQ(tiles->words, 11);  // all there are
  EXPECT_EQ(tiles->RowTiles({16, 32, 22}), 1);
  EXPECT_EQ(tiles->LaneTiles({16, 32, 22}, 1), 2);
  EXPECT_TRUE(HaveRoom(2, 2));
  EXPECT_TRUE(HaveRoom(1, 5));
  EXPECT_FALSE(HaveRoom(1, 6));
  EXPECT_FALSE(HaveRoom(2, 3));
  EXPECT_STREQ(TileInstruction(ScalarType::kInt8, ScalarType::kUint8)->mnemonic.data(), "tdpbsud");
}

TEST(ValidateDotTest, ConstraintsOfTiles) {
  EXPECT_EQ(TilesText(kOfTiles, ""), "no error");
  EXPECT_EQ(TilesText(kOfTiles, "", "whole:0,1:-1|whole:1,0:1"), "no error");
  EXPECT_THAT(TilesText(kOfTiles, "", "in_place:0,1:-1|whole:1,0:1", "avx512_bf16"),
              HasSubstr("the device has no tile registers"));
  EXPECT_THAT(ValidateText(Halves(), kOfTiles, "dot_unit=tiles", kWithTiles),
              HasSubstr("dot_unit=tiles: no dot instructions are used"));
  EXPECT_THAT(
      ValidateText(Bytes(), kOfTiles, "inputs=in_place:0,1:-1|whole:1,0:1; dot=3; dot_unit=tiles",
                   "avx512_vnni avx512_bf16 amx_bf16"),
      HasSubstr("the device has no tile registers for int8"));
  EXPECT_THAT(TilesText(kOfTiles, "; accumulate=output"),
              HasSubstr("needs accumulate=registers and chains=one"));
  EXPECT_THAT(TilesText("16,32,22|16,32,22|16,32,22|16,32,22|1,8,1|1,1,1", ""),
              HasSubstr("needs 16 lanes, not 8"));
  EXPECT_THAT(TilesText("16,32,22|16,32,22|16,32,22|16,32,8|1,16,1|1,1,1", ""),
              HasSubstr("tiles of dimension k must be multiples of 32, not 8"));
  EXPECT_THAT(TilesText(kOfTiles, "", "in_place:0,1:-1|in_place:0,1:-1"),
              HasSubstr("needs a copy of B in strips along j"));
  EXPECT_THAT(TilesText(kOfTiles, "", "whole:1,0:-1|whole:1,0:1"),
              HasSubstr("needs neighbours of A along k in a copy, which has no strips"));
}

}  // namespace
}  // namespace mdh::validate_dot_test

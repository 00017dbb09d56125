// Register tiles on tile registers: shapes of tiles at the end of dimensions, what fills no tile
// along k, and how sums reach results.
#include "codegen/lower/tiles/tile_registers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/build_loop_program.h"
#include "codegen/program/loop_program_text.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"

namespace mdh::tile_registers_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The loop program of a product of bf16, 37 x 50 x 40.
std::string ProgramText(const std::string& tiles, const std::string& rest, bool has_store = false) {
  const std::string text =
      absl::StrCat("product<T = bf16> := out_view<fp32>( y: (i,j,k) -> (i,j) ) o\n",
                   "md_hom<37,50,40>( f, (++, ++, +)",
                   has_store ? ", store s<fp32>( bias: (i,j,k) -> (j) )" : "", " ) o ",
                   "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n",
                   "where f(A, B) -> C { C = fp32(A) * fp32(B) }",
                   has_store ? ", s(C, bias) -> y { y = C + bias }" : "");
  const Result<Expression> expression = ParseExpression(text, {});
  EXPECT_TRUE(expression.ok()) << expression.status();
  DeviceDescription device;
  device.isa = "x86-64 avx512_bf16 amx_bf16";
  device.simd_bytes = 64;
  device.features = FeaturesOf(device);
  const auto parameters = ParseTuningParameters(
      absl::StrCat("model=OpenMP+SIMD+RM; tile=", tiles, "|1,16,1|1,1,1; ",
                   "order=0,1,2|2,0,1|0,1,2|0,1,2|0,1,2|0,1,2; dot=3; dot_unit=tiles; ", rest),
      *expression);
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  const auto low = Lower(*expression, OpenMpSimdRegistersModel(), device, *parameters);
  EXPECT_TRUE(low.ok()) << low.status();
  return ToText(BuildLoopProgram(LoopPlan(*low)));
}

constexpr char kInPlace[] = "inputs=in_place:0,1:-1|whole:1,0:1";

TEST(TileRegistersTest, EndsOfDimensionsHaveFewerRowsAndLanes) {
  const std::string text = ProgramText("37,50,40|37,50,40|37,50,40|32,32,32", kInPlace);
  EXPECT_THAT(text, HasSubstr("configure tiles 16 x 16, 16 x 16, 16 x 16, 16 x 16, 16 x 16, "
                              "16 x 16, 16 x 16, 16 x 16\n"));
  // 18 lanes, and 5 rows.
  EXPECT_THAT(text, HasSubstr("configure tiles 16 x 16, 16 x 2, 16 x 16, 16 x 2, 16 x 16, "
                              "16 x 16, 16 x 16, 16 x 2\n"));
  EXPECT_THAT(text, HasSubstr("configure tiles 5 x 16, 5 x 2, 5 x 16, 16 x 16, 16 x 2\n"));
  EXPECT_THAT(text, HasSubstr("= tile 3, rows 200 bytes apart\n"));
  EXPECT_THAT(text, HasSubstr("  release tiles\n"));
}

TEST(TileRegistersTest, WordsThatFillNoTileAreCopiedWithZerosBehindThem) {
  const std::string text = ProgramText("37,50,40|37,50,40|37,50,40|16,16,32", kInPlace);
  EXPECT_THAT(text, HasSubstr("for k = 0 .. 40 step 32"));
  EXPECT_THAT(text, HasSubstr("A_rest_words[row * 16, stride 1] = splat16(0)"));
  EXPECT_THAT(text, HasSubstr("= A_rest[0], rows 64 bytes apart\n"));
  EXPECT_THAT(text, HasSubstr("= B_rest[0], rows 64 bytes apart\n"));
}

TEST(TileRegistersTest, SumsOfPartsGoOnWithWhatIsThere) {
  const std::string text =
      ProgramText("37,50,40|37,50,32|37,50,32|16,16,32", "inputs=in_place:0,1:-1|2:1,0:1");
  EXPECT_THAT(text, HasSubstr("if first\n    tile 0 = 0\n  else\n    tile 0 = y["));
}

TEST(TileRegistersTest, OtherResultsComeToVectorsRowByRow) {
  const std::string text =
      ProgramText("37,50,40|37,50,40|37,50,40|16,32,40", kInPlace, /*has_store=*/true);
  EXPECT_THAT(text, HasSubstr("sums[0] = tile 0, rows 128 bytes apart\n"));
  EXPECT_THAT(text, HasSubstr("sums[16] = tile 1, rows 128 bytes apart\n"));
  EXPECT_THAT(text, HasSubstr("for row = 0 .. 16\n"));
  EXPECT_THAT(ProgramText("37,50,40|37,50,40|37,50,40|16,32,40", kInPlace),
              Not(HasSubstr("sums[")));
}

// Beside them: vectors of which the last lane has no point.
TEST(TileRegistersTest, LanesThatAreOffAreNeitherLoadedNorStored) {
  const Result<Expression> expression = ParseExpression(
      "product<T = fp32> := out_view<T>( y: (i,j,k) -> (i,j) ) o md_hom<8,7,5>( f, (++, ++, +) ) o "
      "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }",
      {});
  ASSERT_TRUE(expression.ok()) << expression.status();
  const auto parameters = ParseTuningParameters(
      "model=OpenMP+SIMD+RM; tile=8,7,5|8,7,5|8,7,5|2,7,1|1,7,1|1,1,1; "
      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|in_place:0,1:-1",
      *expression);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const auto low = Lower(*expression, OpenMpSimdRegistersModel(), {}, *parameters);
  ASSERT_TRUE(low.ok()) << low.status();
  const std::string text = ToText(BuildLoopProgram(LoopPlan(*low)));
  EXPECT_THAT(text, HasSubstr("fp32x8 B_0 = fp32x8 B[B_at, stride 1, 1 off]\n"));
  EXPECT_THAT(text, HasSubstr("y[i * 7 + 7, stride 1, 1 off] = y_i1_j0\n"));
}

}  // namespace
}  // namespace mdh::tile_registers_test

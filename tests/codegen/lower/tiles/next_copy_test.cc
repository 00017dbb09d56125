// Register tiles that use a packed part alone request what is packed next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "codegen/lower/tiles/build_loop_program.h"
#include "codegen/program/loop_program_text.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"

namespace mdh::next_copy_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The loop program of a product 16 x 96 x 64 whose first operand is as `left` says, whose second,
// as `access` says, is packed in parts of 32 columns.
std::string ProgramText(absl::string_view type, absl::string_view access, absl::string_view tile,
                        absl::string_view layout, absl::string_view rest,
                        absl::string_view left = "(i,k)") {
  const auto expression = ParseExpression(
      absl::StrCat("product<T = ", type, "> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o\n",
                   "md_hom<16,96,64>( f, (++, ++, +) ) o\n", "inp_view<T,T>( A: (i,j,k) -> ", left,
                   ", B: (i,j,k) -> ", access, " )\n",
                   "where f(A, B) -> C { C = fp32(A) * fp32(B) }"),
      {});
  EXPECT_TRUE(expression.ok()) << expression.status();
  DeviceDescription device;
  device.isa = "x86-64 avx512_bf16 amx_bf16";
  device.simd_bytes = 64;
  device.features = FeaturesOf(device);
  const auto parameters = ParseTuningParameters(
      absl::StrCat("model=OpenMP+SIMD+RM; tile=16,96,64|16,96,64|16,32,64|", tile,
                   "|1,16,1|1,1,1; order=0,1,2|0,1,2|0,1,2|1,0,2|0,1,2|0,1,2; ",
                   "inputs=in_place:0,1:-1|2:", layout, "; ", rest),
      *expression);
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  const auto low = Lower(*expression, OpenMpSimdRegistersModel(), device, *parameters);
  EXPECT_TRUE(low.ok()) << low.status();
  return ToText(BuildLoopProgram(LoopPlan(*low)));
}

// The tile before has read what begins the line: the last of the neighbours that a tile reads of a
// row may be in the next one.
TEST(NextCopyTest, TilesRequestTheLastOfNeighbours) {
  const std::string text =
      ProgramText("fp32", "(k,j)", "4,32,2", "1,0:1", "accumulate=registers; prefetch=3", "(k,i)");
  EXPECT_THAT(text, HasSubstr("prefetch A[A_at + 99]\n"));
  EXPECT_THAT(text, HasSubstr("prefetch A[A_at + 115]\n"));
  EXPECT_THAT(text, Not(HasSubstr("prefetch A[A_at + 96]")));
}

// Rows of neighbours: each line of the next 32 columns once.
TEST(NextCopyTest, VectorsRequestLinesOfTheirRows) {
  const std::string text =
      ProgramText("fp32", "(k,j)", "16,32,2", "1,0:1", "accumulate=registers; prefetch=1");
  EXPECT_THAT(text, HasSubstr("prefetch B[j + 32 + k * 96]\n"));
  EXPECT_THAT(text, HasSubstr("prefetch B[j + 32 + k * 96 + 16]\n"));
  EXPECT_THAT(text, HasSubstr("prefetch B[j + 32 + k * 96 + 96]\n"));
  EXPECT_THAT(text, HasSubstr("prefetch B[j + 32 + k * 96 + 112]\n"));
}

TEST(NextCopyTest, ManyAreRequestedInALoop) {
  const std::string text = ProgramText("bf16", "(k,j)", "16,32,32", "1,0:1",
                                       "accumulate=registers; dot=3; dot_unit=tiles; prefetch=1");
  EXPECT_THAT(text, HasSubstr("for ahead = 0 .. 32\n"));
  EXPECT_THAT(text, HasSubstr("prefetch B["));
}

TEST(NextCopyTest, ColumnsAreRequestedWhereTheyAreNeighbours) {
  const std::string text =
      ProgramText("fp32", "(j,k)", "16,32,16", "0,1:0", "accumulate=registers; prefetch=1");
  // Of 32 rows the line of 16 points along k.
  EXPECT_THAT(text, HasSubstr("for ahead = 0 .. 32\n"));
  // Of 2 points along k the same line would be asked for eight times.
  EXPECT_THAT(ProgramText("fp32", "(j,k)", "16,32,2", "0,1:0", "accumulate=registers; prefetch=1"),
              Not(HasSubstr("prefetch B")));
}

TEST(NextCopyTest, PartsThatSeveralTilesUseAreNot) {
  EXPECT_THAT(ProgramText("fp32", "(k,j)", "8,32,2", "1,0:1", "accumulate=registers; prefetch=1"),
              Not(HasSubstr("prefetch B")));
  EXPECT_THAT(ProgramText("fp32", "(k,j)", "16,32,2", "1,0:1", "accumulate=registers"),
              Not(HasSubstr("prefetch")));
}

}  // namespace
}  // namespace mdh::next_copy_test

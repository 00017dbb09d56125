// Register tiles of results of which those on one side of a diagonal are equal to the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/backends/build_program.h"
#include "codegen/program/loop_program_text.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"
#include "tests/error_message.h"

namespace mdh::mirrored_tiles_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kInPlace[] = "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1";
constexpr char kStoredAgain[] = "for j = part .. i\n        y[j * 48 + i] = y[i * 48 + j]\n";

DeviceDescription Device() {
  DeviceDescription device;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  return device;
}

// Parameters of all pairs of 48 rows of x.
Result<LowLevelExpression> Lowered(const std::string& tiles, const std::string& rest,
                                   const std::string& output = "(i,j)",
                                   const std::string& value = "a * b") {
  MDH_ASSIGN_OR_RETURN(
      const Expression expression,
      ParseExpression(absl::StrCat("gram := out_view<fp32>( y: (i,j,k) -> ", output, " ) o\n",
                                   "md_hom<48,48,20>( f, (++, ++, +) ) o\n",
                                   "inp_view<fp32>( x: (i,j,k) -> (k,i), (i,j,k) -> (k,j) )\n",
                                   "where f(a, b) -> y { y = ", value, " }"),
                      {}));
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                       ParseTuningParameters(absl::StrCat("model=OpenMP+SIMD+RM; tile=", tiles,
                                                          "|1,16,1|1,1,1; ", kInPlace, "; ", rest),
                                             expression));
  return Lower(expression, OpenMpSimdRegistersModel(), Device(), parameters);
}

std::string ProgramText(const std::string& tiles, const std::string& rest,
                        const std::string& output = "(i,j)") {
  const Result<LowLevelExpression> low = Lowered(tiles, rest, output);
  EXPECT_TRUE(low.ok()) << low.status();
  const Result<KernelProgram> built = BuildProgram(*low, Device(), ProgramForm::kLowered);
  EXPECT_TRUE(built.ok()) << built.status();
  return ToText(built->program);
}

constexpr char kOneCore[] = "48,48,20|48,48,20|48,48,20|4,16,1";
constexpr char kFourParts[] = "12,48,20|12,32,20|12,32,20|4,16,1";

TEST(MirroredTilesTest, TilesAboveTheDiagonalAreLeftOut) {
  const std::string half = ProgramText(kOneCore, "results_of=half");
  EXPECT_THAT(half, HasSubstr("if j < i + 4\n"));
  EXPECT_THAT(half, HasSubstr(kStoredAgain));
  const std::string all = ProgramText(kOneCore, "results_of=all");
  EXPECT_THAT(all, Not(HasSubstr("if j <")));
  EXPECT_THAT(all, Not(HasSubstr(kStoredAgain)));
}

// By the last row that a part holds; parts from both ends of the rows.
TEST(MirroredTilesTest, SoArePartsAroundTiles) {
  const std::string text = ProgramText(kFourParts, "results_of=half");
  EXPECT_THAT(text,
              HasSubstr("part = mdh_min(item / 2 + item % 2 * 4, 7 - item / 2 - item % 2 * 4"));
  EXPECT_THAT(text, HasSubstr("if j_mm < i_cor + 12"));
  EXPECT_THAT(text, HasSubstr("if j < i + 4\n"));
}

TEST(MirroredTilesTest, SquaresOfResultsAreTransposedInRegisters) {
  EXPECT_THAT(ProgramText(kOneCore, "results_of=half"),
              HasSubstr("y[j * 48 + part, stride 1] = t_64\n"));
  // No neighbours: one by one.
  const std::string apart = ProgramText(kOneCore, "results_of=half", "(2*i,3*j)");
  EXPECT_THAT(apart, Not(HasSubstr("t_64")));
  EXPECT_THAT(apart, HasSubstr("for j = 0 .. i\n"));
}

// Stages that make outputs of arrays read all of them.
TEST(MirroredTilesTest, AllAreComputedWherePartsOfReductionsAreCombined) {
  const std::string text = ProgramText("48,48,10|48,48,10|48,48,10|4,16,1", "results_of=half");
  EXPECT_THAT(text, Not(HasSubstr("if j <")));
  EXPECT_THAT(text, Not(HasSubstr(kStoredAgain)));
}

TEST(MirroredTilesTest, OthersHaveNoEqualResults) {
  EXPECT_THAT(ErrorMessage(Lowered(kOneCore, "results_of=half", "(i,j)", "a - b").status()),
              HasSubstr("results_of=half: no results are equal"));
}

}  // namespace
}  // namespace mdh::mirrored_tiles_test

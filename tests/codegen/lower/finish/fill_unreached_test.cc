// Zeros where no index function reaches: which stage writes them, and who shares what.
#include "codegen/lower/finish/fill_unreached.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/program/loop_program_text.h"
#include "core/text/parser.h"

namespace mdh::fill_unreached_test {
namespace {

constexpr char kRecord[] = "{n: int32, w: fp64}";

Expression Writing(const std::string& view, const std::string& sizes,
                   const std::string& type = "fp32") {
  const auto expression = ParseExpression(absl::StrCat(
      "e := out_view<", type, ">( y", view, " ) o md_hom<", sizes,
      ">( f, (++, ++, max) ) o inp_view<fp32>( x: (i,j,k) -> (i,j,k) ) where f(x) -> y ",
      type == "fp32" ? "{ y = x }" : "{ y = {n: int32(x), w: fp64(x)} }"));
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *expression;
}

// Of a program that has one stage with a comment, on so many blocks of 32 threads.
std::string Filled(const Expression& expression, ItemSharing sharing, int64_t blocks = 1) {
  LoopProgram program;
  program.stages.push_back({"Computes.", {{Comment{"y"}}}});
  if (sharing == ItemSharing::kInterleaved) {
    program.stages.back().launch = {{blocks, 1, 1}, {32, 1, 1}};
  }
  FillUnreached(expression, {"y"}, sharing, &program);
  std::string text;
  for (const Stage& stage : program.stages) {
    absl::StrAppend(&text, "stage on ", stage.launch.grid[0], "\n", ToText(stage.body));
  }
  return text;
}

TEST(FillUnreachedTest, NothingWhereNothingIsLeftOut) {
  const std::string none = "stage on 1\n// y\n";
  EXPECT_EQ(Filled(Writing(": (i,j,k) -> (i,j)", "4,6,2"), ItemSharing::kContiguous), none);
  EXPECT_EQ(Filled(Writing("[6,9] keep: (i,j,k) -> (i,j)", "4,6,2"), ItemSharing::kContiguous),
            none);
  EXPECT_EQ(
      Filled(Writing("[4,6] strides (8,1): (i,j,k) -> (i,j)", "4,6,2"), ItemSharing::kContiguous),
      none);
}

TEST(FillUnreachedTest, ThreadsOfACpuShareRunsOrElements) {
  const Expression border = Writing("[102,9]: (i,j,k) -> (i+1,j+1)", "100,7,2");
  EXPECT_EQ(
      Filled(border, ItemSharing::kContiguous),
      "stage on 1\n// y\n// What no index function of y reaches.\n"
      "share gap = 0 .. 10\n  y[gap] = 0\n"
      "share run = 0 .. 99\n  index at = run * 9 + 17\n  for gap = 0 .. 2\n    y[at + gap] = 0\n"
      "share gap = 0 .. 10\n  y[gap + 908] = 0\n");
  const Expression rows = Writing(": (i,j,k) -> (2*i,j)", "3,500,2");
  EXPECT_EQ(Filled(rows, ItemSharing::kContiguous),
            "stage on 1\n// y\n// What no index function of y reaches.\n"
            "for run = 0 .. 2\n  index at = run * 1000 + 500\n  share gap = 0 .. 500\n"
            "    y[at + gap] = 0\n");
}

TEST(FillUnreachedTest, ThreadsOfBlocksTakeElementsInTurn) {
  const Expression rows = Writing(": (i,j,k) -> (2*i,j)", "3,500,2");
  EXPECT_EQ(Filled(rows, ItemSharing::kInterleaved),
            "stage on 1\n// y\n// What no index function of y reaches.\n"
            "share gap = 0 .. 1000\n  y[gap / 500 * 1000 + 500 + gap % 500] = 0\n");
  // Too much for 32 threads, not for 64.
  const Expression most = Writing("[4000]: (i,j,k) -> (i)", "4,1,2");
  EXPECT_EQ(Filled(most, ItemSharing::kInterleaved),
            "stage on 32\nshare gap = 0 .. 3996\n  y[gap + 4] = 0\nstage on 1\n// y\n");
  EXPECT_EQ(Filled(most, ItemSharing::kInterleaved, 2),
            "stage on 2\n// y\n// What no index function of y reaches.\n"
            "share gap = 0 .. 3996\n  y[gap + 4] = 0\n");
}

TEST(FillUnreachedTest, WhatHasNoFormIsZeroBeforehand) {
  EXPECT_EQ(Filled(Writing("[20]: (i,j,k) -> (2*i+3*j)", "3,2,2"), ItemSharing::kContiguous),
            "stage on 1\nshare gap = 0 .. 8\n  y[gap] = 0\nshare gap = 0 .. 12\n"
            "  y[gap + 8] = 0\nstage on 1\n// y\n");
}

TEST(FillUnreachedTest, RecordsAreWords) {
  EXPECT_EQ(Filled(Writing(": (i,j,k) -> (2*i)", "2,1,2", kRecord), ItemSharing::kContiguous),
            "stage on 1\n// y\n// What no index function of y reaches.\nview int64 y_words = y\n"
            "share gap = 0 .. 2\n  y_words[gap + 2] = 0\n");
}

TEST(FillUnreachedTest, MemoryBetweenElementsIsLeftAlone) {
  EXPECT_EQ(
      Filled(Writing("[3,5] strides (9,1): (i,j,k) -> (i,j+1)", "3,4,2"), ItemSharing::kContiguous),
      "stage on 1\n// y\n// What no index function of y reaches.\n"
      "share gap = 0 .. 1\n  y[gap / 5 % 3 * 9 + gap % 5] = 0\n"
      "share run = 0 .. 2\n"
      "  y[(run * 5 + 5) / 5 % 3 * 9 + (run * 5 + 5) % 5] = 0\n");
}

TEST(EmptyProgramTest, ResultsAreTheIdentity) {
  const LoopProgram program =
      EmptyProgram(Writing(": (i,j,k) -> (i,j)", "4,6,0"), {"y"}, ItemSharing::kInterleaved);
  ASSERT_EQ(program.stages.size(), 1u);
  EXPECT_EQ(ToText(program.stages[0].body), "share item = 0 .. 24\n  y[item] = -inf\n");
  EXPECT_EQ(program.stages[0].launch, (LaunchGeometry{{1, 1, 1}, {128, 1, 1}}));
}

TEST(EmptyProgramTest, ThereAreNoResultsOfAnEmptyConcatenation) {
  const LoopProgram program =
      EmptyProgram(Writing("[4,6]: (i,j,k) -> (i,j)", "0,6,3"), {"y"}, ItemSharing::kInterleaved);
  ASSERT_EQ(program.stages.size(), 1u);
  EXPECT_EQ(ToText(program.stages[0].body), "");
  EXPECT_EQ(program.stages[0].launch, LaunchGeometry());
}

}  // namespace
}  // namespace mdh::fill_unreached_test

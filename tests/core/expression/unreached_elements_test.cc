// Which elements no index function reaches: by the strides of index functions, and point by point.
#include "core/expression/unreached_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/text/parser.h"
#include "core/text/printer.h"

namespace mdh::unreached_elements_test {
namespace {

using ::testing::HasSubstr;

// `view`: "[4]: (i,j) -> (i, j)", behind the name of the output; sizes are 3 and 4.
Expression Writing(const std::string& view, int64_t i = 3, int64_t j = 4) {
  const Result<Expression> e = ParseExpression(absl::StrCat(
      "e := out_view<fp32>( y", view, " ) o md_hom<", i, ",", j,
      ">( f, (++, ++) ) o inp_view<fp32>( x: (i,j) -> (i,j) )\n",
      view.find("), (") == std::string::npos ? "where f(x) -> y { y = x }"
                                             : "where f(x) -> (y, z) { y = x; z = x }"));
  EXPECT_TRUE(e.ok()) << e.status();
  return *e;
}

// "12x3+1:2" is 12 times 3 apart, from 1 on, 2 elements each.
std::string RunsOf(const Expression& expression) {
  const UnreachedElements unreached = FindUnreached(expression, 0);
  std::string text = absl::StrJoin(unreached.runs, " ", [](std::string* out, const auto& runs) {
    for (const ElementRuns::Level& level : runs.levels) {
      absl::StrAppend(out, level.count, "x", level.step, "+");
    }
    absl::StrAppend(out, runs.first, ":", runs.length);
  });
  return unreached.is_exact ? text : text + " around";
}

TEST(UnreachedElements, NoneWhereAllAreReached) {
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (i,j)")), "");
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (2-i,j)")), "");
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (4*i+j)")), "");
  EXPECT_EQ(RunsOf(Writing("[3,4] layout (1,0): (i,j) -> (i,j)")), "");
  EXPECT_EQ(RunsOf(Writing(" strides (7,1): (i,j) -> (i,j)")), "");
}

TEST(UnreachedElements, BordersAreRowsAndGapsBetweenRows) {
  EXPECT_EQ(RunsOf(Writing("[5,6]: (i,j) -> (i+1,j+1)")), "0:7 2x6+11:2 23:7");
  EXPECT_EQ(RunsOf(Writing("[3,4096]: (i,j) -> (i,j)")), "2x4096+4:4092 8196:4092");
  EXPECT_EQ(RunsOf(Writing("[4,4]: (i,j) -> (i,j)")), "12:4");
}

TEST(UnreachedElements, Strides) {
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (2*i,2*j)")), "2x14+7:7 3x14+3x2+1:1");
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (i,2*j)", 1, 7)), "6x2+1:1");
  EXPECT_EQ(RunsOf(Writing("[3,9]: (i,j) -> (2-i,7-2*j)")), "0:1 2x9+8:2 3x9+3x2+2:1 26:1");
}

TEST(UnreachedElements, Diagonals) {
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (i,i,j)", 3, 2)), "2x8+2:6");
}

TEST(UnreachedElements, OrderIsThatOfMemory) {
  EXPECT_EQ(RunsOf(Writing("[5,4] layout (1,0): (i,j) -> (i,j)")), "3x5+3:2 18:2");
  EXPECT_EQ(RunsOf(Writing("[3,5] strides (9,1): (i,j) -> (i,j)")), "2x5+4:1 14:1");
}

TEST(UnreachedElements, SeveralAccesses) {
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (i,2*j), (i,2*j+1)")), "");
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (i,3*j), (i,3*j+1)")), "3x11+3x3+2:1");
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (2*i,2*j), (2*i+1,2*j+1)")),
            "3x16+3x2+1:1 3x16+7:2 3x16+3x2+10:1");
  EXPECT_EQ(RunsOf(Writing("[40]: (i,j) -> (4*i+j), (39-4*i-j)")), "12:16");
  EXPECT_EQ(RunsOf(Writing("[40]: (i,j) -> (4*i+j), (17+8*i+2*j)")), "12:5 11x2+18:1");
}

TEST(UnreachedElements, AroundWhatHasNoForm) {
  EXPECT_EQ(RunsOf(Writing("[20]: (i,j) -> (2*i+3*j+1)", 3, 2)), "0:1 1:8 9:11 around");
  EXPECT_EQ(RunsOf(Writing("[4,20]: (i,j) -> (j,2*i+5)", 3, 2)), "0:5 10:15 2x20+2x2+6:1 30:50");
}

TEST(UnreachedElements, AllOfAnEmptyExpression) {
  EXPECT_EQ(RunsOf(Writing("[3,4]: (i,j) -> (i,j)", 0, 4)), "0:12");
  EXPECT_EQ(RunsOf(Writing(": (i,j) -> (i,j)", 0, 4)), "");
}

TEST(UnreachedElements, KeptWhereThereAreSomeOnly) {
  EXPECT_TRUE(Writing("[5,6] keep: (i,j) -> (i+1,j+1)").outputs()[0].keeps_unreached);
  EXPECT_FALSE(Writing(" keep: (i,j) -> (i,j)").outputs()[0].keeps_unreached);
  EXPECT_THAT(ToText(Writing("[5,6] keep: (i,j) -> (i+1,j+1)")), HasSubstr("y[5, 6] keep: (i,j)"));
}

}  // namespace
}  // namespace mdh::unreached_elements_test

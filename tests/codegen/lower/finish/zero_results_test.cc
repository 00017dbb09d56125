// The stage that sets outputs to zero: which elements, and in which order.
#include "codegen/lower/finish/zero_results.h"

#include <gtest/gtest.h>

#include "codegen/program/loop_program_text.h"
#include "core/text/parser.h"

namespace mdh::zero_results_test {
namespace {

std::vector<ResultTarget> Targets(const Expression& expression,
                                  const std::vector<std::string>& outputs) {
  NameAllocator names;
  RecordViews views(names);
  return OutputTargets(expression, outputs, views);
}

// Of sums along k with that output view, and those types, parameters and results of f.
std::string ZeroText(const std::string& view, const std::string& types, const std::string& f) {
  const auto expression = ParseExpression(
      "sums := out_view<" + types + ">( " + view +
      " ) o md_hom<4,1,6,100>( f, (++, ++, ++, +) ) o inp_view<fp32>( x: (i,u,j,k) -> (i,u,j,k) ) "
      "where f(a) -> " +
      f);
  EXPECT_TRUE(expression.ok()) << expression.status();
  if (!expression.ok()) return "";
  std::vector<std::string> names;
  for (const Buffer& buffer : expression->outputs()) names.push_back(buffer.name);
  return ToText(ZeroResults(*expression, Targets(*expression, names)));
}

TEST(ZeroResultsTest, DenseOutputsAreOneRun) {
  EXPECT_EQ(ZeroText("y: (i,u,j,k) -> (i,u,j)", "fp32", "s { s = a }"),
            "share item = 0 .. 24\n"
            "  y[item] = 0\n");
}

TEST(ZeroResultsTest, NeighboursInMemoryAreNeighbouringThreads) {
  EXPECT_EQ(ZeroText("y: (i,u,j,k) -> (j,i)", "fp32", "s { s = a }"),
            "share item = 0 .. 24\n"
            "  y[item] = 0\n");
  // Every second element of rows of 12, written backwards in i, from the fourth row on.
  EXPECT_EQ(ZeroText("y[8,12]: (i,u,j,k) -> (7-i,2*j+1)", "fp32", "s { s = a }"),
            "share item = 0 .. 24\n"
            "  y[item / 6 * (-12) + item % 6 * 2 + 85] = 0\n");
}

TEST(ZeroResultsTest, EveryResultHasItsElements) {
  EXPECT_EQ(ZeroText("y: (i,u,j,k) -> (i,j), z: (i,u,j,k) -> (j,i)", "fp32,int32",
                     "(s, n: int32) { s = a; n = int32(a) }"),
            "share item = 0 .. 24\n"
            "  y[item / 6 * 6 + item % 6] = 0\n"
            "  z[item / 6 + item % 6 * 4] = 0\n");
}

TEST(ZeroResultsTest, OneResultNeedsNoThreads) {
  const auto expression = ParseExpression(
      "dot := out_view<fp64>( y: (k) -> (0) ) o md_hom<100>( f, (+) ) o "
      "inp_view<fp64>( x: (k) -> (k) ) where f(a) -> s { s = a }");
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(ToText(ZeroResults(*expression, Targets(*expression, {"y"}))), "y[0] = 0\n");
}

TEST(ZeroResultsTest, OtherValues) {
  const auto expression = ParseExpression(
      "largest := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<4,100>( f, (++, max) ) o "
      "inp_view<fp32>( x: (i,k) -> (i,k) ) where f(a) -> s { s = a }");
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(ToText(SetResults(*expression, Targets(*expression, {"y"}),
                              *expression->reduction().identity())),
            "share item = 0 .. 4\n"
            "  y[item] = -inf\n");
}

}  // namespace
}  // namespace mdh::zero_results_test

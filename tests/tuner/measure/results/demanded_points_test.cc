// What results of pipelines are computed from, and which results are chosen.
#include "tuner/measure/results/demanded_points.h"

#include <algorithm>

#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tuner/measure/results/chosen_results.h"

namespace mdh::demanded_points_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr double kNoLimit = 1e18;

// Each step adds three neighbours.
constexpr char kChain[] = R"(chain := pipeline(x) -> z { y = around<|98>(x); z = around<|96>(y) }
around<| N> := out_view<fp32>( y: (i) -> (i) ) o md_hom<N>( f, (++) ) o
  inp_view<fp32>( x: (i) -> (i), (i+1), (i+2) ) where f(a, b, c) -> y { y = a + b + c }
)";

// The square of a running sum, in every second element.
constexpr char kRunning[] =
    R"(running := pipeline(x) -> z { y = sums(x); z = squares(y) }
sums := out_view<fp32>( y: (i) -> (2*i) ) o md_hom<50>( f, (ps(+)) ) o
  inp_view<fp32>( x: (i) -> (i) ) where f(x) -> y { y = x }
squares := out_view<fp32>( z: (i) -> (i) ) o md_hom<99>( f, (++) ) o
  inp_view<fp32>( y: (i) -> (i) ) where f(y) -> z { z = y * y }
)";

std::vector<int64_t> PointsOf(const DemandedPoints& demanded, int step) {
  std::vector<int64_t> points;
  for (int64_t n = 0; n < demanded.CountOf(step); ++n) {
    const absl::Span<const int64_t> point = demanded.PointOf(step, n);
    points.insert(points.end(), point.begin(), point.end());
  }
  return points;
}

TEST(DemandedPointsTest, AStencilNeedsAHalo) {
  const Pipeline chain = *ParsePipeline(kChain);
  DemandedPoints demanded(chain);
  ASSERT_TRUE(demanded.Add(1, {40}, kNoLimit));
  EXPECT_THAT(PointsOf(demanded, 1), ElementsAre(40));
  EXPECT_THAT(PointsOf(demanded, 0), UnorderedElementsAre(40, 41, 42));
  EXPECT_THAT(demanded.ElementsOf(0), UnorderedElementsAre(40, 41, 42, 43, 44));
  const double one_ns = demanded.cost_ns();
  // Most of it is there.
  ASSERT_TRUE(demanded.Add(1, {41}, kNoLimit));
  EXPECT_THAT(PointsOf(demanded, 0), UnorderedElementsAre(40, 41, 42, 43));
  EXPECT_LT(demanded.cost_ns(), 2 * one_ns);
  ASSERT_TRUE(demanded.Add(1, {41}, kNoLimit));
  EXPECT_EQ(demanded.CountOf(1), 2);
}

TEST(DemandedPointsTest, WhatCostsTooMuchLeavesNothing) {
  const Pipeline chain = *ParsePipeline(kChain);
  DemandedPoints demanded(chain);
  EXPECT_FALSE(demanded.Add(1, {40}, 150));
  EXPECT_EQ(demanded.cost_ns(), 0);
  for (const int step : {0, 1}) EXPECT_EQ(demanded.CountOf(step), 0);
  for (const int buffer : {0, 1, 2}) EXPECT_THAT(demanded.ElementsOf(buffer), IsEmpty());
  ASSERT_TRUE(demanded.Add(1, {40}, kNoLimit));
  const double one_ns = demanded.cost_ns();
  EXPECT_FALSE(demanded.Add(1, {7}, one_ns + 150));
  EXPECT_EQ(demanded.cost_ns(), one_ns);
  EXPECT_THAT(PointsOf(demanded, 0), UnorderedElementsAre(40, 41, 42));
  EXPECT_TRUE(demanded.Add(1, {7}, kNoLimit));
}

TEST(DemandedPointsTest, ASumNeedsItsRow) {
  const Pipeline layer = *ParsePipeline(kLayer);
  DemandedPoints demanded(layer);
  ASSERT_TRUE(demanded.Add(1, {2, 3}, kNoLimit));
  EXPECT_THAT(PointsOf(demanded, 0), ElementsAre(2, 3, 0));
  EXPECT_THAT(demanded.ElementsOf(0), UnorderedElementsAre(12, 13, 14, 15, 16, 17));
  EXPECT_THAT(demanded.ElementsOf(1), UnorderedElementsAre(3, 8, 13, 18, 23, 28));
  EXPECT_THAT(demanded.ElementsOf(2), ElementsAre(3));
}

TEST(DemandedPointsTest, ARunningSumNeedsWhatComesBefore) {
  const Pipeline running = *ParsePipeline(kRunning);
  DemandedPoints demanded(running);
  ASSERT_TRUE(demanded.Add(1, {6}, kNoLimit));
  EXPECT_THAT(PointsOf(demanded, 0), ElementsAre(3));
  EXPECT_THAT(demanded.ElementsOf(0), UnorderedElementsAre(0, 1, 2, 3));
  // Nobody writes it: it is zero.
  ASSERT_TRUE(demanded.Add(1, {7}, kNoLimit));
  EXPECT_EQ(demanded.CountOf(0), 1);
}

TEST(ChosenResultsTest, CornersAndCheapNeighboursAreChosen) {
  const Pipeline layer = *ParsePipeline(kLayer, {{"M", "500"}, {"N", "400"}, {"K", "300"}});
  ChosenResults chosen(layer, 1, 100);
  EXPECT_TRUE(chosen.is_empty());
  chosen.AddUpTo(kNoLimit);
  EXPECT_FALSE(chosen.is_empty());
  EXPECT_EQ(chosen.PointsOf(0).size(), 100u);
  for (const int64_t i : {0, 499}) {
    for (const int64_t j : {0, 399}) {
      EXPECT_THAT(chosen.PointsOf(0), Contains(std::vector<int64_t>{i, j}));
    }
  }
  ChosenResults few(layer, 1, 100);
  few.AddUpTo(1e6);
  EXPECT_LT(few.PointsOf(0).size(), 50u);
  EXPECT_GT(few.PointsOf(0).size(), 4u);
  EXPECT_LE(few.demanded().cost_ns(), 1e6);
}

// Numbers of a soft-max row are computed from the same.
TEST(ChosenResultsTest, OfARowThereAreMany) {
  const Pipeline centred = *ParsePipeline(R"(centred := pipeline(x) -> y {
  m = mean(x);
  y = minus(x, m);
}
mean := out_view<fp32>( m: (i,j) -> (i) ) o md_hom<1000,2000>( f, (++, +) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> m { m = x / 2000 }
minus := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<1000,2000>( f, (++, ++) ) o
  inp_view<fp32,fp32>( x: (i,j) -> (i,j), m: (i,j) -> (i) ) where f(x, m) -> y { y = x - m }
)");
  ChosenResults chosen(centred, 1, 4096);
  chosen.AddUpTo(5e6);  // of some twenty rows
  EXPECT_GT(chosen.PointsOf(0).size(), 100u);
  EXPECT_LT(chosen.demanded().CountOf(0), 30);
}

}  // namespace
}  // namespace mdh::demanded_points_test

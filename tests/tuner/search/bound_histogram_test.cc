// Histograms of bounds: all configurations of small spaces, samples of others.
#include "tuner/search/bound_histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mdh::bound_histogram_test {
namespace {

using ::testing::ElementsAre;

// The first parameter's value.
class FirstValue : public CostBound {
 public:
  double Of(OpenCodes open) const override { return static_cast<double>(open[0].front()); }
};

SearchSpace Space(int64_t largest) {
  return *SearchSpace::Create({{"a", *Range::Interval(0, largest)}, {"b", *Range::Interval(1, 2)}},
                              {});
}

TEST(BoundHistogram, OfSmallSpacesIsExact) {
  const BoundHistogram all = HistogramOf(Space(40), FirstValue(), 32, 1000);
  EXPECT_TRUE(all.is_exact);
  EXPECT_EQ(all.configurations, 82);
  // 0 and 1; 2 and 3; 4 to 7; 8 to 15; 16 to 31; 32 to 40.
  EXPECT_THAT(all.counts, ElementsAre(4, 4, 8, 16, 32, 18));
  EXPECT_EQ(all.left, 64);
  EXPECT_EQ(all.left_within().low, 64.0 / 82);
  EXPECT_EQ(all.left_within().high, 64.0 / 82);
}

TEST(BoundHistogram, OfLargeSpacesIsDrawn) {
  const BoundHistogram some = HistogramOf(Space(999'999), FirstValue(), 250'000, 2000);
  EXPECT_FALSE(some.is_exact);
  EXPECT_EQ(some.configurations, 2000);
  const ShareInterval within = some.left_within();
  EXPECT_LT(within.low, 0.25);
  EXPECT_GT(within.high, 0.25);
  EXPECT_LT(within.high - within.low, 0.05);
  EXPECT_EQ(HistogramOf(Space(999'999), FirstValue(), 250'000, 2000, 1).left, some.left);
}

// Of tables.
TEST(BoundHistogram, IntervalsAreThoseOfClopperAndPearson) {
  const auto expect = [](int64_t hits, int64_t draws, double low, double high) {
    const ShareInterval within = ShareWithin(hits, draws);
    EXPECT_NEAR(within.low, low, 1e-4) << hits << " of " << draws;
    EXPECT_NEAR(within.high, high, 1e-4) << hits << " of " << draws;
  };
  expect(0, 10, 0, 0.3085);
  expect(10, 10, 0.6915, 1);
  expect(5, 10, 0.1871, 0.8129);
  expect(1, 100, 0.00025, 0.0545);
  expect(0, 100'000, 0, 3.689e-5);
  expect(50'000, 100'000, 0.4969, 0.5031);
}

}  // namespace
}  // namespace mdh::bound_histogram_test

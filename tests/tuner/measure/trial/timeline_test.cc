#include "tuner/measure/trial/timeline.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/measure/peaks.h"

namespace mdh::timeline_test {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;

// Pieces of 10 us, one after the other; from 300 us on a pause of as long every 100 us.
std::vector<int64_t> Stamps(int64_t start_ns, int pieces, bool is_disturbed) {
  std::vector<int64_t> stamps = {start_ns};
  for (int p = 1; p <= pieces; ++p) {
    const bool pauses = is_disturbed && p > 30 && p % 10 == 0;
    stamps.push_back(stamps.back() + (pauses ? 110'000 : 10'000));
  }
  return stamps;
}

Timeline Threads(const std::vector<std::vector<int64_t>>& threads) {
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& own : threads) all.insert(all.end(), own.begin(), own.end());
  return *Timeline::Create(all, static_cast<int>(threads.size()));
}

TEST(TimelineTest, WhatThreadsReachDoesNotDependOnOthersWork) {
  const Timeline timeline = Threads({Stamps(1000, 100, true), Stamps(5000, 100, false)});
  EXPECT_THAT(timeline.SumOfFastest(), DoubleNear(2e5, 1));
  EXPECT_THAT(timeline.BestTogether(200'000), DoubleNear(2e5, 1));
}

TEST(TimelineTest, TogetherCountsOnlyWhenAllWork) {
  // The second one begins when the first one is half through, and both are half as fast from then
  // on.
  std::vector<int64_t> first = Stamps(0, 50, false), second = {500'000};
  for (int p = 0; p < 50; ++p) {
    first.push_back(first.back() + 20'000);
    second.push_back(second.back() + 20'000);
  }
  first.erase(first.begin(), first.begin() + 50);
  const Timeline timeline = Threads({first, second});
  EXPECT_THAT(timeline.BestTogether(200'000), DoubleNear(1e5, 1));
  EXPECT_EQ(timeline.BestTogether(2'000'000), 0);
}

TEST(TimelineTest, TimesThatDoNotRiseAreRefused) {
  EXPECT_THAT(std::string(Timeline::Create({1, 2, 2}, 1).status().message()),
              HasSubstr("do not rise"));
  EXPECT_FALSE(Timeline::Create({1}, 1).ok());
  EXPECT_FALSE(Timeline::Create({1, 2}, 0).ok());
}

TEST(MeasureUntilReproducedTest, TheLargestFigureCountsOnceItWasReachedTwice) {
  const auto measure = [](std::vector<double> figures) {
    size_t next = 0;
    return *MeasureUntilReproduced([&]() -> Result<double> { return figures[next++]; });
  };
  const Reproduced quiet = measure({100, 101});
  EXPECT_EQ(quiet.most, 101);
  EXPECT_TRUE(quiet.is_reproduced);
  const Reproduced busy = measure({50, 100, 70, 99});
  EXPECT_EQ(busy.most, 100);
  EXPECT_TRUE(busy.is_reproduced);
  EXPECT_FALSE(measure({10, 20, 30, 40, 50, 60}).is_reproduced);
  int calls = 0;
  const auto slow = MeasureUntilReproduced([&]() -> Result<double> { return 10.0 * ++calls; },
                                           /*is_sure=*/nullptr, /*limit_ns=*/0);
  EXPECT_EQ(slow->most, 10);
  EXPECT_FALSE(slow->is_reproduced);
  EXPECT_TRUE(absl::IsCancelled(MeasureUntilReproduced([]() -> Result<double> {
                                  return absl::CancelledError("");
                                }).status()));
}

}  // namespace
}  // namespace mdh::timeline_test

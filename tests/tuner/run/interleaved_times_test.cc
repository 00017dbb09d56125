#include "tuner/run/interleaved_times.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::interleaved_times_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Measurement Round(std::vector<int64_t> times_ns) {
  Measurement round;
  round.times_ns = std::move(times_ns);
  return round;
}

Measurement Failure() {
  Measurement round;
  round.outcome = TrialOutcome::kWrongResult;
  round.reason = "C[0] is wrong";
  return round;
}

TEST(InterleavedTimesTest, AgreeingRoundsSettleATime) {
  InterleavedTimes times({1000, 1000});
  for (size_t round = 0; round < InterleavedTimes::kLeastRounds; ++round) {
    EXPECT_THAT(times.Open(), ElementsAre(0, 1));
    times.AddRound(0, Round({1010, 1020, 1015}));
    times.AddRound(1, Round({1030, 1020, 1025}));
  }
  EXPECT_THAT(times.Open(), IsEmpty());
  EXPECT_EQ(times.Final(0).time_ns(), 1015);
  EXPECT_EQ(times.Final(1).time_ns(), 1025);
  EXPECT_FALSE(times.Final(0).is_disturbed);
}

TEST(InterleavedTimesTest, DisturbedRoundsAreRepeatedAndDoNotCount) {
  InterleavedTimes times({1000});
  times.AddRound(0, Round({9000, 8000}));
  times.AddRound(0, Round({1010, 5000, 9000}));
  times.AddRound(0, Round({30'000}));
  EXPECT_THAT(times.Open(), ElementsAre(0));
  EXPECT_TRUE(times.Final(0).is_disturbed);
  times.AddRound(0, Round({1000, 1010, 1020}));
  times.AddRound(0, Round({1005, 1011, 1021}));
  times.AddRound(0, Round({1006, 1012, 1022}));
  EXPECT_THAT(times.Open(), IsEmpty());
  EXPECT_FALSE(times.Final(0).is_disturbed);
  // Of the four rounds that agree the one that has mostly slow calls is left out.
  EXPECT_EQ(times.Final(0).time_ns(), 1011);
}

TEST(InterleavedTimesTest, ATimeThatTheSearchHasBeatenByFarIsNotBelieved) {
  InterleavedTimes times({1000});
  for (int round = 0; round < 5; ++round) times.AddRound(0, Round({1300, 1310}));
  EXPECT_THAT(times.Open(), ElementsAre(0));
  EXPECT_TRUE(times.Final(0).is_disturbed);
  EXPECT_EQ(times.Final(0).time_ns(), 1310);
}

TEST(InterleavedTimesTest, RoundsWithoutAnUndisturbedCallSettleNothing) {
  InterleavedTimes times({1000});
  Measurement busy = Round({1010, 1010});
  busy.is_disturbed = true;
  for (int round = 0; round < 5; ++round) times.AddRound(0, busy);
  EXPECT_THAT(times.Open(), ElementsAre(0));
  EXPECT_TRUE(times.Final(0).is_disturbed);
  EXPECT_EQ(times.Final(0).time_ns(), 1010);
}

TEST(InterleavedTimesTest, RoundsOfCallsThatDifferMuchSettleNothing) {
  InterleavedTimes times({1000});
  for (int round = 0; round < 5; ++round) times.AddRound(0, Round({1000, 1300, 1010, 1280, 1270}));
  EXPECT_THAT(times.Open(), ElementsAre(0)) << "something disturbed most calls, unseen";
  EXPECT_TRUE(times.Final(0).is_disturbed);
  EXPECT_EQ(times.Final(0).time_ns(), 1010);
  for (int round = 0; round < 3; ++round) times.AddRound(0, Round({1005, 1020, 1010, 1500}));
  EXPECT_THAT(times.Open(), IsEmpty());
  EXPECT_FALSE(times.Final(0).is_disturbed);
}

TEST(InterleavedTimesTest, OfWhatIsNotSettledTheFastestCallsCount) {
  InterleavedTimes times({0, 0});
  // One in every call as slow as the other, but once.
  times.AddRound(0, Round({3000, 3100, 2900}));
  times.AddRound(0, Round({9000, 1000, 1020}));
  times.AddRound(0, Round({5000, 7000, 1025}));
  for (const int64_t time_ns : {2000, 2500, 3000}) times.AddRound(1, Round({time_ns}));
  EXPECT_TRUE(times.Final(0).is_disturbed);
  EXPECT_THAT(times.Final(0).times_ns, ElementsAre(1000, 1020, 1025));
  EXPECT_LT(times.Final(0).time_ns(), times.Final(1).time_ns());
}

TEST(InterleavedTimesTest, OneLuckyRoundSettlesNothing) {
  InterleavedTimes times({0});
  for (const int64_t time_ns : {900, 1000, 1010}) times.AddRound(0, Round({time_ns}));
  EXPECT_THAT(times.Open(), ElementsAre(0));
  times.AddRound(0, Round({1020}));
  EXPECT_THAT(times.Open(), IsEmpty());
  EXPECT_EQ(times.Final(0).time_ns(), 1010);
}

TEST(InterleavedTimesTest, WhoIsSlowerEvenByLuckNeedsNoSettling) {
  InterleavedTimes times({1000, 1500});
  for (int round = 0; round < 3; ++round) {
    times.AddRound(0, Round({1000}));
    times.AddRound(1, Round({1500 * (round + 1)}));
  }
  EXPECT_THAT(times.Open(), IsEmpty());
  EXPECT_TRUE(times.Final(1).is_disturbed);
  EXPECT_EQ(times.Final(1).time_ns(), 1500);
}

TEST(InterleavedTimesTest, WhoMayBeFasterKeepsTheOthersOpen) {
  InterleavedTimes times({1000, 1050});
  for (int round = 0; round < 3; ++round) {
    times.AddRound(0, Round({1000}));
    times.AddRound(1, Round({1100 * (round + 1)}));
  }
  EXPECT_THAT(times.Open(), UnorderedElementsAre(0, 1));
}

// Others who take half of the time double what both take; now and then they leave one call alone.
TEST(InterleavedTimesTest, WhoIsByFarFasterInMostTurnsIsFaster) {
  InterleavedTimes times({0, 0, 0});
  for (const int64_t busy : {2, 1, 2, 2, 3, 2}) {
    times.AddRound(0, Round({1700 * busy}));
    times.AddRound(1, Round({1000 * busy}));
    times.AddRound(2, Round({1600 * busy}));
  }
  EXPECT_TRUE(times.IsClearlyFaster(1, 0));
  EXPECT_FALSE(times.IsClearlyFaster(0, 1));
  EXPECT_FALSE(times.IsClearlyFaster(2, 0));
  EXPECT_FALSE(times.IsClearlyFaster(0, 0));
}

TEST(InterleavedTimesTest, ALuckyCallIsOneTurn) {
  InterleavedTimes times({0, 0});
  for (const int64_t time_ns : {2000, 900, 2000, 2000}) {
    times.AddRound(0, Round({2000}));
    times.AddRound(1, Round({time_ns}));
  }
  EXPECT_FALSE(times.IsClearlyFaster(1, 0));
}

// Beside others who never pause a kernel that uses one core loses less than one that uses all.
TEST(InterleavedTimesTest, TurnsThatWereDisturbedTellNothing) {
  InterleavedTimes times({0, 0});
  Measurement slow = Round({2000}), fast = Round({1000});
  slow.is_disturbed = true;
  for (size_t round = 0; round < 10 * InterleavedTimes::kLeastRounds; ++round) {
    times.AddRound(0, slow);
    times.AddRound(1, fast);
    EXPECT_FALSE(times.IsClearlyFaster(1, 0));
  }
  slow.is_disturbed = false;
  for (size_t round = 0; round < InterleavedTimes::kLeastRounds; ++round) {
    times.AddRound(0, slow);
    times.AddRound(1, fast);
  }
  EXPECT_TRUE(times.IsClearlyFaster(1, 0));
}

TEST(InterleavedTimesTest, FewTurnsTellNothing) {
  InterleavedTimes times({0, 0});
  for (size_t round = 0; round < InterleavedTimes::kLeastRounds; ++round) {
    EXPECT_FALSE(times.IsClearlyFaster(1, 0));
    times.AddRound(0, Round({2000}));
    times.AddRound(1, Round({1000}));
  }
  EXPECT_TRUE(times.IsClearlyFaster(1, 0));
}

TEST(InterleavedTimesTest, AFailureIsFinal) {
  InterleavedTimes times({1000, 1000});
  times.AddRound(0, Round({1000}));
  times.AddRound(0, Failure());
  times.AddRound(0, Round({1000}));
  EXPECT_THAT(times.Open(), ElementsAre(1));
  EXPECT_EQ(times.Final(0).outcome, TrialOutcome::kWrongResult);
  times.AddRound(1, Failure());
  EXPECT_THAT(times.Open(), IsEmpty());
}

}  // namespace
}  // namespace mdh::interleaved_times_test

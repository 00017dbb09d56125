#include "tuner/run/tuning_budget.h"

#include "gtest/gtest.h"
#include "tuner/process/clock.h"

namespace mdh::tuning_budget_test {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class TuningBudgetTest : public ::testing::Test {
 protected:
  TuningBudget Budget(AbortCondition abort, int lookahead = 8) {
    options_.abort = std::move(abort);
    return {options_, history_, lookahead, 3};
  }
  void RecordTrial(TrialOutcome outcome = TrialOutcome::kOk) {
    Candidate candidate;
    candidate.kernel.source = std::to_string(history_.trials());
    candidate.measurement.outcome = outcome;
    candidate.measurement.times_ns = {1000};
    history_.Record(candidate, 0);
  }
  TuningOptions options_;
  TrialHistory history_{3};
};

TEST_F(TuningBudgetTest, FewAreInWorkBeforeTheFirstResult) {
  const TuningBudget budget = Budget(AbortCondition::Evaluations(100));
  EXPECT_EQ(budget.Room({.in_work = 1}), 3);
  RecordTrial(TrialOutcome::kCompileError);
  EXPECT_EQ(budget.Room({.in_work = 1}), 3);
  RecordTrial();
  EXPECT_EQ(budget.Room({.in_work = 1}), 7);
}

TEST_F(TuningBudgetTest, ThereAreMoreFirstOnesWhereMoreMayBeInWork) {
  EXPECT_EQ(Budget(AbortCondition::Evaluations(100), 2).Room({}), 2);
  EXPECT_EQ(Budget(AbortCondition::Evaluations(100), 32).Room({}), 16);
}

// The first of many that are compiled at a time says nothing of how fast the others follow.
TEST_F(TuningBudgetTest, WhatIsInWorkTakesNoLongerThanATrial) {
  TuningBudget budget = Budget(AbortCondition::Duration(100 * kSecond));
  budget.BeginSearch(NowNs() - 20 * kSecond);
  RecordTrial();
  EXPECT_EQ(budget.Allowance(1, {.in_work = 2}), 1);
  EXPECT_EQ(budget.Allowance(1, {.in_work = 7}), 0);
  budget.SetTrialTime(20 * kSecond);
  EXPECT_EQ(budget.Allowance(1, {.in_work = 7}), 1);
  budget.SetTrialTime(120 * kSecond);
  EXPECT_EQ(budget.Allowance(1, {.in_work = 7}), 0);
  EXPECT_EQ(budget.Allowance(1, {.in_work = 2}), 1);
}

TEST_F(TuningBudgetTest, WhatIsInWorkCountsAndWhatWasKnownDoesNot) {
  const TuningBudget budget = Budget(AbortCondition::Evaluations(10));
  for (int n = 0; n < 4; ++n) RecordTrial();
  EXPECT_EQ(budget.Allowance(100, {}), 6);
  EXPECT_EQ(budget.Allowance(2, {}), 2);
  EXPECT_EQ(budget.Allowance(100, {.in_work = 5}), 1);
  EXPECT_EQ(budget.Allowance(100, {.in_work = 6, .known = 3}), 3);
}

TEST_F(TuningBudgetTest, TimeIsReservedForTheEnd) {
  TuningBudget budget = Budget(AbortCondition::Duration(100 * kSecond));
  budget.BeginSearch();
  RecordTrial();
  EXPECT_EQ(budget.Allowance(1, {}), 1);
  EXPECT_FALSE(budget.IsTimeUp({}));
  budget.SetProblemTime(101 * kSecond);
  EXPECT_EQ(budget.Allowance(1, {}), 0);
  EXPECT_TRUE(budget.IsTimeUp({}));
}

TEST_F(TuningBudgetTest, TimeIsNeverUpWithoutAResult) {
  TuningBudget budget = Budget(AbortCondition::Duration(1));
  budget.SetProblemTime(kSecond);
  EXPECT_FALSE(budget.IsTimeUp({}));
  RecordTrial(TrialOutcome::kCrash);
  EXPECT_FALSE(budget.IsTimeUp({}));
  RecordTrial();
  EXPECT_TRUE(budget.IsTimeUp({}));
}

TEST_F(TuningBudgetTest, ADurationEndsAnEighthAndAMomentLater) {
  const int64_t before = NowNs();
  const TuningBudget budget = Budget(AbortCondition::Duration(10 * kSecond));
  EXPECT_GE(budget.deadline_ns(), before + 11 * kSecond + kSecond / 4 + kMostOverrunNs);
  EXPECT_LE(budget.deadline_ns(), NowNs() + 11 * kSecond + kSecond / 4 + kMostOverrunNs);
  EXPECT_GT(budget.remaining_ns(), 9 * kSecond);
  EXPECT_EQ(Budget(AbortCondition::Evaluations(10)).deadline_ns(), 0);
}

TEST_F(TuningBudgetTest, AnExtensionHoldsFromTheStart) {
  TuningBudget budget = Budget(AbortCondition::Duration(1));
  RecordTrial();
  EXPECT_TRUE(budget.IsTimeUp({}));
  budget.SetAbort(AbortCondition::Duration(100 * kSecond));
  EXPECT_FALSE(budget.IsTimeUp({}));
  EXPECT_GT(budget.deadline_ns(), NowNs() + 100 * kSecond);
}

TEST_F(TuningBudgetTest, ThereIsNoTimeForTheEndOfASlowProblem) {
  TuningBudget budget = Budget(AbortCondition::Duration(kSecond));
  RecordTrial();
  EXPECT_TRUE(budget.HasTimeForTheEnd());
  budget.SetProblemTime(10 * kSecond);
  EXPECT_FALSE(budget.HasTimeForTheEnd());
  TuningBudget without = Budget(AbortCondition::Evaluations(1));
  without.SetProblemTime(10 * kSecond);
  EXPECT_TRUE(without.HasTimeForTheEnd());
}

}  // namespace
}  // namespace mdh::tuning_budget_test

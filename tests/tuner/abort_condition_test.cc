#include "tuner/search/abort_condition.h"

#include "gtest/gtest.h"

namespace mdh {
namespace {

TEST(AbortCondition, DurationHoldsFromItsLimit) {
  const AbortCondition abort = AbortCondition::Duration(100);
  EXPECT_FALSE(abort.Holds({.elapsed_ns = 99}));
  EXPECT_TRUE(abort.Holds({.elapsed_ns = 100}));
}

TEST(AbortCondition, EvaluationsCountFailedOnesAndValidEvaluationsDoNot) {
  const SearchProgress progress = {.evaluations = 5, .valid_evaluations = 2};
  EXPECT_TRUE(AbortCondition::Evaluations(5).Holds(progress));
  EXPECT_FALSE(AbortCondition::Evaluations(6).Holds(progress));
  EXPECT_TRUE(AbortCondition::ValidEvaluations(2).Holds(progress));
  EXPECT_FALSE(AbortCondition::ValidEvaluations(3).Holds(progress));
}

TEST(AbortCondition, CostReachedNeedsACost) {
  const AbortCondition abort = AbortCondition::CostReached(2.0);
  EXPECT_FALSE(abort.Holds({}));
  EXPECT_FALSE(abort.Holds({.best_cost = 2.5}));
  EXPECT_TRUE(abort.Holds({.best_cost = 2.0}));
}

TEST(AbortCondition, ComposesWithAndAndOr) {
  const AbortCondition either = AbortCondition::Duration(100) || AbortCondition::Evaluations(5);
  EXPECT_TRUE(either.Holds({.elapsed_ns = 100}));
  EXPECT_TRUE(either.Holds({.evaluations = 5}));
  EXPECT_FALSE(either.Holds({.elapsed_ns = 99, .evaluations = 4}));
  const AbortCondition both = AbortCondition::Duration(100) && AbortCondition::Evaluations(5);
  EXPECT_FALSE(both.Holds({.elapsed_ns = 100}));
  EXPECT_FALSE(both.Holds({.evaluations = 5}));
  EXPECT_TRUE(both.Holds({.elapsed_ns = 100, .evaluations = 5}));
}

}  // namespace
}  // namespace mdh

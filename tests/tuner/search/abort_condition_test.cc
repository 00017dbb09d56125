#include "tuner/search/abort_condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mdh::abort_condition_test {
namespace {

using ::testing::HasSubstr;

AbortCondition Parsed(std::string_view text) {
  Result<AbortCondition> condition = AbortCondition::Parse(text);
  EXPECT_TRUE(condition.ok()) << condition.status();
  return condition.ok() ? *condition : AbortCondition::Evaluations(1);
}

std::string ErrorOf(std::string_view text) {
  const Result<AbortCondition> condition = AbortCondition::Parse(text);
  if (condition.ok()) return "accepted: " + condition->ToText();
  EXPECT_EQ(condition.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(condition.status().message());
}

TEST(AbortConditionTest, ReadsAndPrintsEveryCondition) {
  for (const char* text :
       {"duration(90s)", "duration(1500ms)", "duration(1ns)", "duration(2min)", "duration(3h)",
        "duration(7us)", "evaluations(1000)", "valid_evaluations(50)", "fraction(0.1)",
        "cost(0.0015)", "cost(-3)", "cost(0)", "speedup(1.05, 30s)", "speedup(1.05, 200)",
        "evaluations(5) and duration(1s) and cost(2)", "evaluations(5) or duration(1s)",
        "evaluations(5) and (duration(1s) or cost(2))",
        "evaluations(5) and duration(1s) or cost(2)"}) {
    EXPECT_EQ(Parsed(text).ToText(), text);
  }
}

TEST(AbortConditionTest, ReadsOtherSpellings) {
  EXPECT_EQ(Parsed(" evaluations ( 5 )&&cost(2)||duration(1 s)").ToText(),
            "evaluations(5) and cost(2) or duration(1s)");
  EXPECT_EQ(Parsed("duration(0.5min)").ToText(), "duration(30s)");
  EXPECT_EQ(Parsed("evaluations(1e3)").ToText(), "evaluations(1000)");
  EXPECT_EQ(Parsed("((cost(1.5e-3)))").ToText(), "cost(0.0015)");
}

TEST(AbortConditionTest, CountsReached) {
  EXPECT_FALSE(AbortCondition::Evaluations(3).Holds({.evaluations = 2}));
  EXPECT_TRUE(AbortCondition::Evaluations(3).Holds({.evaluations = 3}));
  EXPECT_FALSE(AbortCondition::ValidEvaluations(3).Holds({.evaluations = 9}));
  EXPECT_TRUE(AbortCondition::ValidEvaluations(3).Holds({.valid_evaluations = 3}));
  EXPECT_FALSE(AbortCondition::Duration(5).Holds({.elapsed_ns = 4}));
  EXPECT_TRUE(AbortCondition::Duration(5).Holds({.elapsed_ns = 5}));
  EXPECT_FALSE(AbortCondition::CostReached(2).Holds({}));
  EXPECT_FALSE(AbortCondition::CostReached(2).Holds({.best_cost = 2.5}));
  EXPECT_TRUE(AbortCondition::CostReached(2).Holds({.best_cost = 2}));
}

TEST(AbortConditionTest, FractionOfTheSpace) {
  const AbortCondition tenth = AbortCondition::Fraction(0.1);
  EXPECT_FALSE(tenth.Holds({.evaluations = 99, .space_count = 1000}));
  EXPECT_TRUE(tenth.Holds({.evaluations = 100, .space_count = 1000}));
  EXPECT_EQ(tenth.EvaluationsLeft({.evaluations = 40, .space_count = 1000}), 60);
  EXPECT_TRUE(tenth.Holds({.evaluations = 1, .space_count = 1}));
  EXPECT_FALSE(tenth.Holds({.evaluations = 1000000}));
  EXPECT_EQ(tenth.EvaluationsLeft({.evaluations = 40}), std::nullopt);
  const Count huge("100000000000000000000000000000000");
  EXPECT_FALSE(tenth.Holds({.evaluations = 1000000, .space_count = huge}));
  EXPECT_EQ(tenth.EvaluationsLeft({.evaluations = 40, .space_count = huge}), std::nullopt);
}

TEST(AbortConditionTest, SpeedupNeedsAWholeWindow) {
  const AbortCondition condition = AbortCondition::SpeedupOverEvaluations(1.5, 10);
  SearchProgress progress;
  progress.evaluations = 100;
  EXPECT_FALSE(condition.Holds(progress)) << "nothing valid yet";
  progress.best_cost = 8;
  progress.improvements = {{.elapsed_ns = 0, .evaluations = 95, .cost = 8}};
  EXPECT_FALSE(condition.Holds(progress)) << "the window began before the first cost";
  progress.evaluations = 105;
  EXPECT_TRUE(condition.Holds(progress));
  progress.improvements.push_back({.elapsed_ns = 0, .evaluations = 104, .cost = 6});
  progress.best_cost = 6;
  EXPECT_TRUE(condition.Holds(progress)) << "8 to 6 is less than 1.5";
  progress.improvements.push_back({.elapsed_ns = 0, .evaluations = 105, .cost = 5});
  progress.best_cost = 5;
  EXPECT_FALSE(condition.Holds(progress)) << "8 to 5 is more than 1.5";
}

TEST(AbortConditionTest, SpeedupOverTime) {
  const AbortCondition condition = AbortCondition::SpeedupOverDuration(2, 100);
  SearchProgress progress = {.elapsed_ns = 149, .best_cost = 4};
  progress.improvements = {{.elapsed_ns = 50, .evaluations = 1, .cost = 4}};
  EXPECT_FALSE(condition.Holds(progress));
  progress.elapsed_ns = 150;
  EXPECT_TRUE(condition.Holds(progress));
}

TEST(AbortConditionTest, SpeedupOfCostsThatAreNotPositive) {
  const AbortCondition condition = AbortCondition::SpeedupOverEvaluations(2, 1);
  const auto holds = [&condition](double then, double now) {
    SearchProgress progress = {.evaluations = 5, .best_cost = now};
    progress.improvements = {{.elapsed_ns = 0, .evaluations = 4, .cost = then}};
    return condition.Holds(progress);
  };
  EXPECT_FALSE(holds(1, 0));
  EXPECT_TRUE(holds(0, 0));
  EXPECT_FALSE(holds(0, -1));
  EXPECT_TRUE(holds(-4, -6));
  EXPECT_FALSE(holds(-4, -8));
}

TEST(AbortConditionTest, WhatIsLeft) {
  const SearchProgress progress = {.elapsed_ns = 30, .evaluations = 4};
  const AbortCondition ten = AbortCondition::Evaluations(10);
  const AbortCondition seven = AbortCondition::Evaluations(7);
  const AbortCondition cost = AbortCondition::CostReached(1);
  const AbortCondition time = AbortCondition::Duration(100);
  EXPECT_EQ(ten.EvaluationsLeft(progress), 6);
  EXPECT_EQ(ten.NanosecondsLeft(progress), std::nullopt);
  EXPECT_EQ(time.NanosecondsLeft(progress), 70);
  EXPECT_EQ(cost.EvaluationsLeft(progress), std::nullopt);
  EXPECT_EQ((ten || seven).EvaluationsLeft(progress), 3);
  EXPECT_EQ((ten && seven).EvaluationsLeft(progress), 6);
  EXPECT_EQ((ten && cost).EvaluationsLeft(progress), std::nullopt);
  EXPECT_EQ((ten || cost).EvaluationsLeft(progress), 6);
  EXPECT_EQ((time || ten).NanosecondsLeft(progress), 70);
  EXPECT_EQ((time && ten).NanosecondsLeft(progress), std::nullopt);
  EXPECT_EQ((time && AbortCondition::Evaluations(4)).NanosecondsLeft(progress), 70);
  EXPECT_EQ(AbortCondition::Evaluations(2).EvaluationsLeft(progress), 0);
}

TEST(AbortConditionTest, Composition) {
  const SearchProgress progress = {.elapsed_ns = 30, .evaluations = 4};
  EXPECT_TRUE(Parsed("evaluations(4) and duration(30ns)").Holds(progress));
  EXPECT_FALSE(Parsed("evaluations(4) and duration(31ns)").Holds(progress));
  EXPECT_TRUE(Parsed("evaluations(4) or duration(31ns)").Holds(progress));
  EXPECT_FALSE(Parsed("evaluations(5) or duration(31ns)").Holds(progress));
  EXPECT_FALSE(Parsed("(evaluations(4) or cost(1)) and cost(2)").Holds(progress));
}

TEST(AbortConditionTest, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("column 1: expected a condition: duration(TIME), "));
  EXPECT_THAT(ErrorOf("evals(3)"), HasSubstr("column 1: unknown condition 'evals'; there are "));
  EXPECT_THAT(ErrorOf("evaluations 3"), HasSubstr("column 13: expected '(' after evaluations"));
  EXPECT_THAT(ErrorOf("evaluations(x)"), HasSubstr("column 13: expected a number, found 'x'"));
  EXPECT_THAT(ErrorOf("evaluations(3"), HasSubstr("column 14: expected ')', found the end"));
  EXPECT_THAT(ErrorOf("evaluations(3) cost(1)"), HasSubstr("column 16: expected 'and', 'or'"));
  EXPECT_THAT(ErrorOf("(evaluations(3)"), HasSubstr("column 16: expected 'and', 'or' or ')'"));
  EXPECT_THAT(ErrorOf("speedup(1.5)"), HasSubstr("column 12: expected ','"));
  EXPECT_THAT(ErrorOf("evaluations(3) and"), HasSubstr("column 19: expected a condition"));
}

TEST(AbortConditionTest, ErrorsForValues) {
  EXPECT_THAT(ErrorOf("evaluations(0)"), HasSubstr("column 13: 0 holds before the search starts"));
  EXPECT_THAT(ErrorOf("evaluations(-1)"), HasSubstr("column 13: must not be negative"));
  EXPECT_THAT(ErrorOf("evaluations(1.5)"), HasSubstr("whole number"));
  EXPECT_THAT(ErrorOf("evaluations(10000000000000000000)"), HasSubstr("whole number below 2^63"));
  EXPECT_THAT(ErrorOf("evaluations(5s)"), HasSubstr("a number without 's' is expected"));
  EXPECT_THAT(ErrorOf("valid_evaluations(0)"), HasSubstr("holds before"));
  EXPECT_THAT(ErrorOf("duration(5)"), HasSubstr("a time is a number with ns, us, ms, s, min or h"));
  EXPECT_THAT(ErrorOf("duration(5d)"), HasSubstr("a time is"));
  EXPECT_THAT(ErrorOf("duration(-5s)"), HasSubstr("must not be negative"));
  EXPECT_THAT(ErrorOf("duration(1e9h)"), HasSubstr("below 292 years"));
  EXPECT_THAT(ErrorOf("fraction(1.5)"), HasSubstr("never holds"));
  EXPECT_THAT(ErrorOf("fraction(0)"), HasSubstr("holds before"));
  EXPECT_THAT(ErrorOf("fraction(-0.5)"), HasSubstr("must not be negative"));
  EXPECT_THAT(ErrorOf("cost(inf)"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("cost(1e999)"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("cost(nan)"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("speedup(1, 30)"), HasSubstr("column 9: a speed-up has a factor greater"));
  EXPECT_THAT(ErrorOf("speedup(1.1, 0s)"), HasSubstr("column 14: 0 holds before"));
}

TEST(AbortConditionTest, AlternativesThatNeverDecideAreErrors) {
  EXPECT_THAT(ErrorOf("evaluations(10) or valid_evaluations(20)"),
              HasSubstr("column 20: 'valid_evaluations(20)' never decides, because "
                        "'evaluations(10)' holds no later"));
  EXPECT_THAT(ErrorOf("speedup(1.1, 30s) or duration(10s)"),
              HasSubstr("'speedup(1.1, 30s)' never decides, because 'duration(10s)'"));
  EXPECT_THAT(ErrorOf("evaluations(10) or speedup(1.1, 20)"), HasSubstr("never decides"));
  EXPECT_THAT(ErrorOf("cost(1) or cost(2)"), HasSubstr("'cost(1)' never decides"));
  EXPECT_THAT(ErrorOf("fraction(0.5) or fraction(0.5)"), HasSubstr("never decides"));
  EXPECT_THAT(ErrorOf("evaluations(9) or (evaluations(9) and cost(1))"),
              HasSubstr("never decides"));
  EXPECT_THAT(ErrorOf("cost(3) or (cost(1) or cost(3) and duration(1s))"),
              HasSubstr("never decides"));
  EXPECT_EQ(Parsed("speedup(1.1, 5s) or duration(10s) or valid_evaluations(5) or evaluations(9)")
                .ToText(),
            "speedup(1.1, 5s) or duration(10s) or valid_evaluations(5) or evaluations(9)");
  EXPECT_EQ(Parsed("evaluations(10) and evaluations(20)").ToText(),
            "evaluations(10) and evaluations(20)");
  EXPECT_EQ(Parsed("speedup(1.1, 20) or speedup(1.2, 30)").ToText(),
            "speedup(1.1, 20) or speedup(1.2, 30)");
}

TEST(AbortConditionTest, HostileTextIsRefused) {
  EXPECT_THAT(ErrorOf(std::string(5000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(ErrorOf(std::string(20000, ' ')), HasSubstr("longer than 10000 characters"));
}

}  // namespace
}  // namespace mdh::abort_condition_test

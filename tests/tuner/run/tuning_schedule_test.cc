// Searches under a schedule.
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "tests/error_message.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/recorded_runner.h"
#include "tuner/run/design_search.h"
#include "tuner/run/tuning_loop.h"

namespace mdh::tuning_schedule_test {
namespace {

using ::testing::HasSubstr;

class TuningUnderSchedule : public ::testing::Test {
 protected:
  Schedule Parsed(const std::string& text) const {
    return *Schedule::Parse(text, expression_, OpenMpSimdRegistersModel(), "s.sched");
  }

  Result<TuningResult> Search(Schedule schedule, int64_t evaluations) {
    TuningOptions options{.abort = AbortCondition::Evaluations(evaluations)};
    options.schedule = std::move(schedule);
    return Tune(
        expression_, runner_, options,
        [&](const TuningProgress& progress) { trials_.push_back(*progress.trial); }, cancelled_);
  }

  const Expression expression_ = MatMulExpression(96, 80, 64);
  RecordedRunner runner_;
  std::atomic<bool> cancelled_ = false;
  std::vector<Trial> trials_;
};

TEST_F(TuningUnderSchedule, AllTrialsKeepToIt) {
  const Schedule schedule =
      Parsed("L1: tile i=6, j={8, 16}\nMM: tile j=!whole\ninput A: copy never\nprefetch=5\n");
  const Result<TuningResult> result = Search(schedule, 30);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->trials, 30);
  EXPECT_EQ(result->failed_trials, 0);
  for (const Trial& trial : trials_) {
    EXPECT_TRUE(schedule.Allows(trial.parameters).ok()) << schedule.Allows(trial.parameters);
  }
}

TEST_F(TuningUnderSchedule, ACompleteScheduleIsTheOnlyTrial) {
  const Result<TuningResult> free = Search(Parsed(""), 5);
  ASSERT_TRUE(free.ok()) << free.status();
  const TuningParameters found = trials_.back().parameters;
  trials_.clear();
  const Result<TuningResult> replayed =
      Search(Schedule::Of(found, expression_, OpenMpSimdRegistersModel()), 30);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_EQ(replayed->trials, 1);
  EXPECT_TRUE(replayed->is_exhausted);
  EXPECT_TRUE(Schedule::Of(found, expression_, OpenMpSimdRegistersModel())
                  .Allows(replayed->parameters)
                  .ok());
}

TEST_F(TuningUnderSchedule, WhatLeavesNothingIsAnErrorThatNamesTheLine) {
  EXPECT_THAT(ErrorMessage(Search(Parsed("cores: parts i=2\ncores: parts i=3\n"), 5)),
              HasSubstr("line 2: COR: parts i=3"));
}

// Designs for GPUs: those outside are passed over, and after many of them the search is done.
TEST(DesignsUnderSchedule, AreThoseThatAreInIt) {
  const Expression product = MatMulExpression(512, 512, 512);
  const DeviceDescription gpu = *DescribeCudaArchitecture(80);
  const SystemModel model = CudaModel();
  const auto parsed = [&](const std::string& text) {
    return *Schedule::Parse(text, product, model);
  };
  const Schedule wide = parsed("REG: tile i=!2\nresident=0\n");
  DesignSearch search(product, model, gpu, &wide);
  int designs = 0;
  while (!search.is_done() && designs < 20) {
    const auto next = search.Ask();
    if (!next.has_value()) break;
    EXPECT_TRUE(wide.Allows(next->parameters).ok()) << wide.Allows(next->parameters);
    search.Tell(next->design, 1000.0 + designs);
    ++designs;
  }
  EXPECT_GT(designs, 0);
  const Schedule none = parsed("BLK: parts i=7\n");
  DesignSearch nothing(product, model, gpu, &none);
  EXPECT_FALSE(nothing.Ask().has_value());
}

}  // namespace
}  // namespace mdh::tuning_schedule_test

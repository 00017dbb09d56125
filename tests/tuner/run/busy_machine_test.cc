// Searches while others use the machine; tests/benchmarks/busy_benchmark.cc does more of it, and
// compares with what is found when nobody does.
#include <atomic>

#include "gmock/gmock.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/busy_loops.h"
#include "tests/tuner/runner_fixture.h"
#include "tuner/run/tuning_loop.h"

namespace mdh::busy_machine_test {
namespace {

constexpr int64_t kBudget = 1'500'000'000;

using OnABusyMachine = RunnerTest;

TEST_F(OnABusyMachine, SearchesLoseNothingAndStoreNothingWorseThanTheDefault) {
  Result<std::unique_ptr<Runner>> started = Runner::Start(Options());
  ASSERT_TRUE(started.ok()) << started.status();
  const std::atomic<bool> cancelled = false;
  {
    const BusyLoops loops(BusyTimes::kAlways, 2, kBudget);
    const Result<MachinePeaks> peaks = (*started)->Peaks();
    ASSERT_TRUE(peaks.ok()) << peaks.status();
    EXPECT_GT(peaks->fp32_flops_per_s, 0);
    EXPECT_GT(peaks->clock_hz, 1e8);
  }
  for (const BusyTimes times : {BusyTimes::kAlways, BusyTimes::kAtLast}) {
    const BusyLoops loops(times, 2, kBudget);
    int implausible = 0;
    const auto result = Tune(
        MatMulExpression(64, 64, 64), **started, {.abort = AbortCondition::Duration(kBudget)},
        [&](const TuningProgress& progress) {
          implausible += progress.trial->measurement.outcome == TrialOutcome::kImplausible;
        },
        cancelled);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(implausible, 0) << Name(times);
    EXPECT_GT(result->default_ns, 0);
    EXPECT_LE(result->measurement.time_ns(), result->default_ns) << Name(times);
  }
}

}  // namespace
}  // namespace mdh::busy_machine_test

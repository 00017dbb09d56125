#include "tuner/run/tuning_loop.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "core/expression/canonical.h"
#include "gmock/gmock.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/processes.h"
#include "tests/tuner/recorded_runner.h"
#include "tests/tuner/runner_fixture.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/process/clock.h"

namespace mdh::tuning_loop_test {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class TuningLoop : public ::testing::Test {
 protected:
  Result<TuningResult> Search(TuningOptions options) {
    return Tune(
        expression_, runner_, options,
        [&](const TuningProgress& progress) {
          trials_.push_back(*progress.trial);
          best_.push_back(progress.best_ns);
          if (on_trial_) on_trial_(progress);
        },
        cancelled_);
  }
  static TuningOptions Evaluations(int64_t count) {
    return {.abort = AbortCondition::Evaluations(count)};
  }

  Expression expression_ = MatMulExpression(96, 80, 64);
  RecordedRunner runner_;
  std::atomic<bool> cancelled_ = false;
  std::vector<Trial> trials_;
  std::vector<int64_t> best_;
  std::function<void(const TuningProgress&)> on_trial_;
};

TEST_F(TuningLoop, MakesExactlyAsManyTrialsAsAsked) {
  const TuningResult result = *Search(Evaluations(37));
  EXPECT_EQ(result.trials, 37);
  EXPECT_EQ(result.failed_trials, 0);
  ASSERT_EQ(trials_.size(), 37u);
  for (size_t t = 0; t < trials_.size(); ++t) {
    EXPECT_EQ(trials_[t].number, static_cast<int64_t>(t) + 1);
  }
}

TEST_F(TuningLoop, GivesTheBestOfAllTrials) {
  const TuningResult result = *Search(Evaluations(40));
  int64_t best = trials_[0].measurement.time_ns();
  for (const Trial& trial : trials_) best = std::min(best, trial.measurement.time_ns());
  EXPECT_EQ(result.measurement.time_ns(), best);
  EXPECT_EQ(RecordedRunner::CostOf(result.kernel) + 1, best);  // the median of what Ok gives
  EXPECT_TRUE(std::is_sorted(best_.rbegin(), best_.rend()));
  EXPECT_EQ(result.default_ns, trials_[0].measurement.time_ns());
  EXPECT_EQ(result.loop_nest_ns, 1'000'000'000);
  EXPECT_THAT(result.low_level_table, HasSubstr("COR"));
  EXPECT_TRUE(
      Validate(expression_, OpenMpSimdRegistersModel(), runner_.device(), result.parameters).ok());
}

TEST_F(TuningLoop, SameSeedSameTrials) {
  ASSERT_TRUE(Search(Evaluations(30)).ok());
  const std::vector<Trial> first = std::move(trials_);
  trials_.clear();
  runner_.problems_ = 0;
  runner_.searched_.clear();
  ASSERT_TRUE(Search(Evaluations(30)).ok());
  ASSERT_EQ(trials_.size(), first.size());
  for (size_t t = 0; t < first.size(); ++t) {
    EXPECT_EQ(trials_[t].parameters, first[t].parameters);
  }
}

TEST_F(TuningLoop, RandomSearchWorksToo) {
  TuningOptions options = Evaluations(20);
  options.technique = "random";
  EXPECT_EQ(Search(options)->trials, 20);
}

TEST_F(TuningLoop, AnUnknownTechniqueIsNamed) {
  TuningOptions options = Evaluations(20);
  options.technique = "guessing";
  const auto result = Search(options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(result.status().message(), HasSubstr("guessing"));
}

TEST_F(TuningLoop, StartConfigurationsComeRightAfterTheDefault) {
  ASSERT_TRUE(Search(Evaluations(30)).ok());
  const TuningParameters start = trials_[20].parameters;
  trials_.clear();
  runner_.problems_ = 0;
  runner_.searched_.clear();
  TuningOptions options = Evaluations(10);
  options.seed = 99;
  options.start = {{start}, {start}};
  TuningParameters invalid = start;
  invalid.tile.clear();
  options.start.push_back({invalid});
  ASSERT_TRUE(Search(options).ok());
  EXPECT_EQ(trials_.size(), 10u);
  EXPECT_EQ(trials_[1].parameters, start);
}

TEST_F(TuningLoop, OneTrialIsMadeEvenWithoutTime) {
  const TuningResult result = *Search({.abort = AbortCondition::Duration(0)});
  EXPECT_EQ(result.trials, 1);
  EXPECT_EQ(result.default_ns, result.measurement.time_ns());
}

TEST_F(TuningLoop, EndsWhenTheCostIsReached) {
  const TuningResult result =
      *Search({.abort = AbortCondition::CostReached(5e6) || AbortCondition::Evaluations(500)});
  EXPECT_LT(result.trials, 500);
  EXPECT_LE(result.measurement.time_ns(), 5'000'001);
}

TEST_F(TuningLoop, FailedTrialsAreCountedAndTheRunGoesOn) {
  runner_.answer_ = [](const Kernel& kernel) {
    const int64_t cost = RecordedRunner::CostOf(kernel);
    return cost % 2 == 0 ? RecordedRunner::Ok(cost)
                         : RecordedRunner::Fail(TrialOutcome::kWrongResult, "C[0] is wrong");
  };
  const TuningResult result = *Search(Evaluations(40));
  EXPECT_EQ(result.trials, 40);
  EXPECT_GT(result.failed_trials, 5);
  EXPECT_LT(result.failed_trials, 35);
  EXPECT_EQ(result.measurement.outcome, TrialOutcome::kOk);
}

TEST_F(TuningLoop, WithoutAValidTrialTheCommonestReasonIsGiven) {
  runner_.answer_ = [](const Kernel& kernel) {
    return RecordedRunner::CostOf(kernel) % 8 == 0
               ? RecordedRunner::Fail(TrialOutcome::kCrash, "SIGSEGV")
               : RecordedRunner::Fail(TrialOutcome::kTimeout, "did not end within 1 s");
  };
  const auto result = Search(Evaluations(20));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(result.status().message(), HasSubstr("none of 20 configurations of matmul"));
  EXPECT_THAT(result.status().message(), HasSubstr("timeout: did not end within 1 s"));
}

TEST_F(TuningLoop, AWinnerThatFailsOnNewInputsIsPassedOver) {
  std::string winner;
  runner_.answer_ = [&](const Kernel& kernel) {
    const int64_t cost = RecordedRunner::CostOf(kernel);
    if (runner_.problems_ == 2 && cost < best_.back() + 1) {
      winner = kernel.source;
      return RecordedRunner::Fail(TrialOutcome::kWrongResult, "C[1] is wrong");
    }
    return RecordedRunner::Ok(cost);
  };
  const TuningResult result = *Search(Evaluations(30));
  EXPECT_FALSE(winner.empty());
  EXPECT_NE(result.kernel.source, winner);
  EXPECT_EQ(result.measurement.outcome, TrialOutcome::kOk);
  EXPECT_EQ(runner_.seed_, 2u);
}

// The machine is busy while the search runs, and quiet at its end: then the search has measured
// parallel kernels, such as the default, far too slow.
TEST_F(TuningLoop, TheDefaultIsComparedWithTheBestAtTheEnd) {
  std::string first;
  runner_.answer_ = [&](const Kernel& kernel) {
    if (first.empty()) first = kernel.source;
    const int64_t cost = RecordedRunner::CostOf(kernel);
    if (kernel.source != first) return RecordedRunner::Ok(cost);
    return RecordedRunner::Ok(runner_.problems_ == 1 ? 100 * cost : 500'000);
  };
  const TuningResult result = *Search(Evaluations(30));
  EXPECT_EQ(result.kernel.source, first);
  EXPECT_EQ(result.measurement.time_ns(), 500'001);
  EXPECT_EQ(result.default_ns, 500'001);
  EXPECT_FALSE(result.measurement.is_disturbed);
}

// So is what an earlier run has stored.
TEST_F(TuningLoop, WhatIsThereIsComparedWithTheBestAtTheEnd) {
  ASSERT_TRUE(Search(Evaluations(30)).ok());
  const TuningParameters stored = trials_[20].parameters;
  runner_.problems_ = 0;
  runner_.searched_.clear();
  int number = 0;
  std::string kernel_of_stored;
  runner_.answer_ = [&](const Kernel& kernel) {
    if (runner_.problems_ == 1 && ++number == 2) kernel_of_stored = kernel.source;
    const int64_t cost = RecordedRunner::CostOf(kernel);
    if (kernel.source != kernel_of_stored) return RecordedRunner::Ok(cost);
    return RecordedRunner::Ok(runner_.problems_ == 1 ? 100 * cost : 500'000);
  };
  TuningOptions options = Evaluations(20);
  options.start = {{stored}};
  const TuningResult result = *Search(options);
  EXPECT_EQ(result.kernel.source, kernel_of_stored);
}

TEST_F(TuningLoop, ATimeThatIsNeverReachedAgainIsMarked) {
  TuningOptions options = Evaluations(20);
  options.patience_ns = 1'000'000;
  options.measure.target_time_ns = 1'000'000;
  int64_t calls = 0;
  runner_.answer_ = [&](const Kernel& kernel) {
    const int64_t cost = RecordedRunner::CostOf(kernel);
    return RecordedRunner::Ok(runner_.problems_ == 1 ? cost : cost * (2 + ++calls % 7));
  };
  const TuningResult result = *Search(options);
  EXPECT_TRUE(result.measurement.is_disturbed);
  EXPECT_GT(result.measurement.time_ns(), 0);
}

// On a CUDA device, where nvcc is tried with the winner at the end, and nowhere else.
TEST_F(TuningLoop, TheFasterCompilerOfTheWinnerIsTaken) {
  runner_.device_ = *DescribeCudaArchitecture(90);
  for (const int64_t gain : {-1000, 0, 1000}) {
    int compiled = 0;
    runner_.problems_ = 0;
    runner_.searched_.clear();
    runner_.answer_ = [&](const Kernel& kernel) {
      const bool is_nvcc = kernel.compiler == Compiler::kNvcc;
      EXPECT_TRUE(!is_nvcc || runner_.problems_ == 2);
      compiled += is_nvcc ? 1 : 0;
      if (is_nvcc && gain == 0) {
        return RecordedRunner::Fail(TrialOutcome::kCompileError, "there is no nvcc");
      }
      return RecordedRunner::Ok(RecordedRunner::CostOf(kernel) - (is_nvcc ? gain : 0));
    };
    TuningOptions options = Evaluations(8);
    options.least_search_for_nvcc_ns = 0;
    const Result<TuningResult> result = Search(options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GT(compiled, 0);
    EXPECT_EQ(result->kernel.compiler == Compiler::kNvcc, gain > 0) << gain;
    EXPECT_EQ(result->measurement.time_ns(),
              RecordedRunner::CostOf(result->kernel) + 1 - (gain > 0 ? gain : 0));
    EXPECT_EQ(result->trials, 8);
    compiled = 0;
    options.least_search_for_nvcc_ns = 100'000'000'000;
    runner_.problems_ = 0;
    runner_.searched_.clear();
    ASSERT_TRUE(Search(options).ok());
    EXPECT_EQ(compiled, 0);
  }
}

TEST_F(TuningLoop, CancellingGivesTheBestSoFar) {
  on_trial_ = [&](const TuningProgress& progress) { cancelled_ = progress.trials >= 10; };
  runner_.answer_ = [&](const Kernel& kernel) {
    return cancelled_ ? RecordedRunner::Fail(TrialOutcome::kTimeout, "cancelled")
                      : RecordedRunner::Ok(RecordedRunner::CostOf(kernel));
  };
  const TuningResult result = *Search(Evaluations(1000));
  EXPECT_GE(result.trials, 10);
  EXPECT_LT(result.trials, 20);
  EXPECT_EQ(result.failed_trials, 0);
  EXPECT_EQ(runner_.problems_, 1);  // nothing is measured again
}

TEST_F(TuningLoop, CancellingBeforeTheFirstTrialIsAnError) {
  cancelled_ = true;
  // Whoever cancels interrupts what is in work, of which there is nothing yet.
  int measured = 0;
  runner_.answer_ = [&](const Kernel& kernel) {
    ++measured;
    return RecordedRunner::Ok(RecordedRunner::CostOf(kernel));
  };
  EXPECT_EQ(Search(Evaluations(10)).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(measured, 0);
}

TEST_F(TuningLoop, ErrorsOfTheRunnerArePassedOn) {
  runner_.set_problem_ = [](int) { return absl::ResourceExhaustedError("no memory"); };
  EXPECT_EQ(Search(Evaluations(10)).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TuningLoop, ARunnerThatDiesBeforeTheEndCostsNothing) {
  runner_.set_problem_ = [](int problem) {
    return problem == 2 ? absl::UnavailableError("the runner ended") : absl::OkStatus();
  };
  EXPECT_EQ(Search(Evaluations(10))->trials, 10);
  EXPECT_EQ(runner_.problems_, 3);
}

TEST_F(TuningLoop, AnInterruptionAtTheEndKeepsWhatWasFound) {
  runner_.set_problem_ = [](int problem) {
    return problem == 2 ? absl::CancelledError("cancelled") : absl::OkStatus();
  };
  EXPECT_EQ(Search(Evaluations(10))->trials, 10);
}

TEST_F(TuningLoop, ALackAtTheEndKeepsWhatTheTrialsHaveShown) {
  for (const Status& lack :
       {absl::ResourceExhaustedError("no space"), absl::UnavailableError("the runner ended"),
        absl::InternalError("what else there may be")}) {
    runner_.problems_ = 0;
    runner_.searched_.clear();
    runner_.set_problem_ = [&](int problem) { return problem >= 2 ? lack : absl::OkStatus(); };
    const Result<TuningResult> result = Search(Evaluations(10));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->incomplete, lack);
    EXPECT_EQ(result->trials, 10);
    EXPECT_GT(result->measurement.time_ns(), 0);
  }
}

TEST_F(TuningLoop, WhatCannotBeCompiledAgainIsNotWrong) {
  runner_.answer_ = [&](const Kernel& kernel) {
    return runner_.problems_ >= 2
               ? RecordedRunner::Fail(TrialOutcome::kLaunchError, "the runner ended: SIGKILL")
               : RecordedRunner::Ok(RecordedRunner::CostOf(kernel));
  };
  const Result<TuningResult> result = Search(Evaluations(10));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->incomplete.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(result->incomplete.message()), HasSubstr("the runner ended: SIGKILL"));
  EXPECT_GT(result->measurement.time_ns(), 0);
}

TEST_F(TuningLoop, WhatIsWrongOnNewInputsIsRefuted) {
  runner_.answer_ = [&](const Kernel& kernel) {
    return runner_.problems_ >= 2 ? RecordedRunner::Fail(TrialOutcome::kWrongResult, "C[3]")
                                  : RecordedRunner::Ok(RecordedRunner::CostOf(kernel));
  };
  const Status status = Search(Evaluations(10)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(IsRefuted(status));
  // Where nothing was ever right nothing is refuted.
  runner_.answer_ = [](const Kernel&) {
    return RecordedRunner::Fail(TrialOutcome::kWrongResult, "C[3]");
  };
  EXPECT_FALSE(IsRefuted(Search(Evaluations(10)).status()));
}

TEST_F(TuningLoop, ALackDuringTheSearchKeepsWhatTheTrialsHaveShown) {
  int measured = 0;
  runner_.answer_ = [&](const Kernel& kernel) {
    if (++measured == 6) runner_.next_ = absl::ResourceExhaustedError("cannot start a process");
    return RecordedRunner::Ok(RecordedRunner::CostOf(kernel));
  };
  const Result<TuningResult> result = Search(Evaluations(1000));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->incomplete.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LT(result->trials, 10);
  EXPECT_GT(result->measurement.time_ns(), 0);
}

// With a real runner.
using TuningWithRunner = RunnerTest;

// Of candidates that a search gives up, on a busy machine compilers, too.
auto IsSlow() { return AnyOf(HasSubstr("did not end"), HasSubstr("compiling took longer")); }

TEST_F(TuningWithRunner, MatMulOfUnevenSizes) {
  Result<std::unique_ptr<Runner>> started = Runner::Start(Options());
  ASSERT_TRUE(started.ok()) << started.status();
  std::vector<std::string> failures;
  const std::atomic<bool> cancelled = false;
  const auto result = Tune(
      MatMulExpression(61, 53, 47), **started, {.abort = AbortCondition::Evaluations(16)},
      [&](const TuningProgress& progress) {
        const Measurement& measurement = progress.trial->measurement;
        if (measurement.outcome != TrialOutcome::kOk) failures.push_back(measurement.reason);
      },
      cancelled);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->trials, 16);
  // Slow candidates are possible, wrong ones are not.
  EXPECT_THAT(failures, Each(IsSlow()));
  EXPECT_GT(result->default_ns, 0);
  EXPECT_GT(result->loop_nest_ns, 0);
  // A round is one call where a candidate took long, as any does that the machine holds up.
  EXPECT_GE(result->measurement.times_ns.size(), 2u);
  EXPECT_THAT(result->kernel.source, HasSubstr(result->kernel.entry));
}

TEST_F(TuningWithRunner, TheDurationIsKeptApproximately) {
  Result<std::unique_ptr<Runner>> started = Runner::Start(Options());
  ASSERT_TRUE(started.ok()) << started.status();
  const std::atomic<bool> cancelled = false;
  const auto result = Tune(MatMulExpression(64, 64, 64), **started,
                           {.abort = AbortCondition::Duration(3'000'000'000)}, nullptr, cancelled);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->elapsed_ns, 1'500'000'000);
  EXPECT_LT(result->elapsed_ns, 25'000'000'000);  // the machine may be busy
}

// MDH_KILLS: how often, for a longer run.
TEST_F(TuningWithRunner, RunnersThatAreKilledLoseNoTrial) {
  const char* const wanted = std::getenv("MDH_KILLS");
  const int kills = wanted == nullptr ? 8 : std::atoi(wanted);
  Result<std::unique_ptr<Runner>> started = Runner::Start(Options());
  ASSERT_TRUE(started.ok()) << started.status();
  std::vector<std::string> failures;
  int killed = 0;
  int64_t last_kill_ns = 0;
  const std::atomic<bool> cancelled = false;
  const int64_t trials = 4 * kills;
  const auto result = Tune(
      MatMulExpression(61, 53, 47), **started, {.abort = AbortCondition::Evaluations(trials)},
      [&](const TuningProgress& progress) {
        const Measurement& measurement = progress.trial->measurement;
        if (measurement.outcome != TrialOutcome::kOk) failures.push_back(measurement.reason);
        // Not before it has had the time to start again.
        if (killed == kills || NowNs() < last_kill_ns + 300'000'000) return;
        last_kill_ns = NowNs();
        for (const pid_t runner : DescendantsNamed("mdh-runner")) {
          killed += kill(runner, SIGKILL) == 0 ? 1 : 0;
        }
      },
      cancelled);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->trials, trials);
  EXPECT_GE(killed, kills / 2);
  EXPECT_THAT(failures, Each(IsSlow()));
}

TEST_F(TuningLoop, ABudgetThatIsExtendedWhileItRunsIsUsed) {
  TuningOptions options = Evaluations(3);
  int asked = 0;
  options.extension = [&]() -> std::optional<AbortCondition> {
    if (++asked != 2) return std::nullopt;
    return AbortCondition::Evaluations(20);
  };
  EXPECT_EQ(Search(options)->trials, 20);
}

TEST_F(TuningLoop, PhasesAreTold) {
  TuningOptions options{.abort = AbortCondition::Evaluations(3) ||
                                 AbortCondition::Duration(60'000'000'000)};
  std::vector<SearchPhase> phases;
  options.on_step = [&](const SearchStep& step) {
    phases.push_back(step.phase);
    EXPECT_GT(step.remaining_ns, 0);
  };
  ASSERT_TRUE(Search(options).ok());
  EXPECT_THAT(phases, testing::ElementsAre(SearchPhase::kInputs, SearchPhase::kReference,
                                           SearchPhase::kLoopNest, SearchPhase::kCompiling,
                                           SearchPhase::kFinals));
}

TEST_F(TuningLoop, ABudgetThatIsTooShortIsAnErrorThatSaysSo) {
  runner_.set_problem_ = [](int) { return absl::DeadlineExceededError("the inputs are large"); };
  const Status status = Search({.abort = AbortCondition::Duration(1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the budget is too short for 'matmul': the inputs are large"));
}

TEST_F(TuningLoop, WithoutTimeForItNothingIsMeasuredOnceMore) {
  // Twice that is more than there is after the end of the budget.
  runner_.set_problem_ = [](int) {
    absl::SleepFor(absl::Nanoseconds(kMostOverrunNs * 6 / 10));
    return absl::OkStatus();
  };
  const Result<TuningResult> result = Search({.abort = AbortCondition::Duration(1)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->trials, 1);
  EXPECT_EQ(runner_.problems_, 1);
}

TEST_F(TuningWithRunner, ALargeProblemEndsInTimeToo) {
  Result<std::unique_ptr<Runner>> runner = Runner::Start(Options());
  ASSERT_TRUE(runner.ok()) << runner.status();
  // 1.7e9 points: the reference alone takes longer than the budget.
  const Expression matmul = MatMulExpression(1200, 1200, 1200, ScalarType::kFloat64);
  std::atomic<bool> cancelled = false;
  const int64_t before = NowNs();
  const Result<TuningResult> result = Tune(
      matmul, **runner, {.abort = AbortCondition::Duration(2'000'000'000)}, nullptr, cancelled);
  const int64_t elapsed = NowNs() - before;
  // On a machine with other work there may be no time for a kernel, and processes are ended later.
  EXPECT_LT(elapsed, 2'400'000'000 + kMostOverrunNs + 4'000'000'000);
  if (absl::IsDeadlineExceeded(result.status())) return;
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->measurement.check, ResultCheck::kSamples);
}

}  // namespace
}  // namespace mdh::tuning_loop_test

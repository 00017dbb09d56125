#include "server/jobs/trial_journal.h"

#include <deque>
#include <set>

#include "codegen/choose/default_parameters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"
#include "tuner/run/trial_history.h"

namespace mdh::trial_journal_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::TuningTrial Ended(int64_t number, const std::string& outcome, int64_t time_ns,
                      const std::string& digest) {
  v1::TuningTrial trial;
  trial.set_number(number);
  trial.set_outcome(outcome);
  trial.set_time_ns(time_ns);
  trial.set_parameters("parameters " + std::to_string(number));
  trial.set_kernel_digest(digest);
  trial.set_elapsed_ns(100 * number);
  trial.set_device_time_ns(200 * number);
  return trial;
}

TEST(TrialJournalTest, TheSummaryIsWhatProgressWas) {
  v1::TuningTrial in_flight;
  in_flight.set_number(5);
  const std::string ok(Name(TrialOutcome::kOk));
  const std::string timeout(Name(TrialOutcome::kTimeout));
  const std::string wrong(Name(TrialOutcome::kWrongResult));
  const JournalSummary summary =
      SummarizeTrials({Ended(1, ok, 70, "a"), Ended(2, wrong, 0, "b"), Ended(3, ok, 50, "c"),
                       Ended(4, timeout, 0, "d"), in_flight});
  EXPECT_EQ(summary.latest_number, 5);
  EXPECT_EQ(summary.progress.trials(), 4);
  EXPECT_EQ(summary.progress.failed_trials(), 2);
  EXPECT_EQ(summary.progress.best_time_ns(), 50);
  EXPECT_EQ(summary.progress.best_parameters(), "parameters 3");
  EXPECT_EQ(summary.progress.elapsed_ns(), 400);
  EXPECT_EQ(summary.progress.device_time_ns(), 800);
  // A time-out may have been the moment's: it is tried again.
  ASSERT_THAT(summary.known, SizeIs(3));
  EXPECT_EQ(SearchTime(summary.known.at("c")), 50);
  EXPECT_EQ(summary.known.at("b").outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT(SummarizeTrials({}).known, IsEmpty());
}

// Measures without a device: the time is the length of the source.
class CountingRunner final : public Runner {
 public:
  const DeviceDescription& device() const override { return device_; }
  Status SetProblem(const ComputationView&, uint64_t, const Numerics&) override {
    return absl::OkStatus();
  }
  Result<int64_t> LoopNestTime() override { return 1'000'000; }
  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions&) override {
    measured_.insert(IdentityOf(kernel));
    Finished finished{number, {}};
    finished.measurement.times_ns = {static_cast<int64_t>(kernel.source.size()) + 1'000'000};
    waiting_.push_back(std::move(finished));
    return absl::OkStatus();
  }
  Result<Finished> Next() override {
    if (waiting_.empty()) return absl::FailedPreconditionError("nothing is submitted");
    Finished finished = std::move(waiting_.front());
    waiting_.pop_front();
    return finished;
  }
  Result<MachinePeaks> Peaks() override { return MachinePeaks{}; }
  void Interrupt() override {}

  const std::multiset<std::string>& measured() const { return measured_; }

 private:
  const DeviceDescription device_ = FakeCpu();
  std::deque<Finished> waiting_;
  std::multiset<std::string> measured_;
};

TEST(TrialJournalTest, ASearchThatGoesOnMeasuresNothingTwice) {
  constexpr int64_t kTrials = 30;
  TemporaryDirectory directory;
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = directory.File("mdhd.sqlite")});
  const Expression expression = MatMulExpression(64, 64, 64);
  const v1::KernelKey key = MakeKernelKey(expression, KeyEnvironment::Of(FakeCpu()));
  const std::atomic<bool> cancelled = false;
  std::set<std::string> earlier;
  for (int run = 0; run < 2; ++run) {
    const std::vector<v1::TuningTrial> trials = *store->ListTrials(1, 0, 0);
    TrialJournal journal(*store, {1, 1}, key, SummarizeTrials(trials), absl::Now);
    CountingRunner runner;
    TuningOptions options;
    options.lookahead = 1;
    options.abort = AbortCondition::Evaluations(kTrials);
    options.on_start = [&](const TuningParameters& parameters, const std::string& identity) {
      EXPECT_EQ(earlier.count(identity), 0u) << "run " << run;
      journal.Begin(parameters, identity);
    };
    options.known = [&](const std::string& identity) { return journal.Known(identity); };
    int64_t heard = 0;
    const Result<TuningResult> result = Tune(
        expression, runner, options,
        [&](const TuningProgress& progress) {
          journal.End(*progress.trial, v1::TuningProgress());
          EXPECT_EQ(progress.trials, ++heard);
        },
        cancelled);
    ASSERT_TRUE(result.ok()) << result.status();
    // What is known already does not count.
    EXPECT_EQ(heard, kTrials);
    EXPECT_THAT(*store->ListTrials(1, 0, 0), SizeIs((run + 1) * kTrials));
    for (const std::string& identity : runner.measured()) earlier.insert(identity);
  }
}

}  // namespace
}  // namespace mdh::trial_journal_test

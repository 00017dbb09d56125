// One search on several devices that are alike.
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/server/eventually.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/recorded_runner.h"
#include "tuner/measure/trial/verdict.h"
#include "tuner/run/runner_pool.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/tuning_loop.h"

namespace mdh::several_devices_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;

// Takes some time for each kernel, and gives up after some.
class Device final : public Runner {
 public:
  explicit Device(int64_t lasts = -1) : lasts_(lasts) {}

  const DeviceDescription& device() const override { return recorded_.device_; }
  DeviceDescription& description() { return recorded_.device_; }
  Status SetProblem(const ComputationView& computation, uint64_t seed,
                    const Numerics& numerics) override {
    if (!problem_.ok()) return problem_;
    return recorded_.SetProblem(computation, seed, numerics);
  }
  Result<int64_t> LoopNestTime() override { return recorded_.LoopNestTime(); }
  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions& options) override {
    return recorded_.Submit(number, kernel, options);
  }
  Result<Finished> Next() override {
    if (measured_ == lasts_) return absl::FailedPreconditionError("unhealthy: it smokes");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++measured_;
    return recorded_.Next();
  }
  Result<MachinePeaks> Peaks() override { return MachinePeaks{}; }
  void Interrupt() override {}

  Status problem_;
  int64_t measured_ = 0;

 private:
  const int64_t lasts_;
  RecordedRunner recorded_;
};

class SeveralDevices : public ::testing::Test {
 protected:
  // `joining` come after ten trials.
  Result<TuningResult> Search(std::vector<Runner*> runners, int64_t evaluations,
                              std::vector<Runner*> joining = {}) {
    const std::atomic<bool> cancelled = false;
    trials_.clear();
    const auto join = [&]() -> std::vector<Runner*> {
      if (trials_.size() < 10) return {};
      return std::exchange(joining, {});
    };
    return Tune(
        MatMulExpression(96, 80, 64), runners,
        {.lookahead = 6, .abort = AbortCondition::Evaluations(evaluations), .joining = join},
        [&](const TuningProgress& progress) { trials_.push_back(*progress.trial); }, cancelled);
  }

  std::vector<Trial> trials_;
};

TEST_F(SeveralDevices, ShareTheTrials) {
  Device a, b;
  const TuningResult result = *Search({&a, &b}, 60);
  EXPECT_EQ(result.trials, 60);
  // How many each has depends on which threads a busy machine lets run.
  EXPECT_THAT(a.measured_, Gt(0));
  EXPECT_THAT(b.measured_, Gt(0));
}

TEST_F(SeveralDevices, FindWhatOneFinds) {
  Device alone, a, b, c;
  const TuningResult of_one = *Search({&alone}, 60);
  std::vector<TuningParameters> first, second;
  for (const Trial& trial : trials_) first.push_back(trial.parameters);
  const TuningResult of_three = *Search({&a, &b, &c}, 60);
  for (const Trial& trial : trials_) second.push_back(trial.parameters);
  EXPECT_THAT(second, ::testing::UnorderedElementsAreArray(first));
  EXPECT_EQ(of_three.parameters, of_one.parameters);
}

TEST_F(SeveralDevices, OneThatGivesUpLosesNothing) {
  Device good, dying(7);
  const TuningResult result = *Search({&dying, &good}, 50);
  EXPECT_EQ(result.trials, 50);
  EXPECT_EQ(result.failed_trials, 0);
  EXPECT_EQ(dying.measured_, 7);
}

TEST_F(SeveralDevices, OneThatJoinsTakesItsShare) {
  Device first, late;
  EXPECT_EQ(Search({&first}, 80, {&late})->trials, 80);
  EXPECT_THAT(first.measured_, Gt(0));
  EXPECT_THAT(late.measured_, Gt(0));
}

TEST_F(SeveralDevices, OneThatJoinsGoesOnForOneThatGivesUp) {
  Device dying(30), late;
  EXPECT_EQ(Search({&dying}, 80, {&late})->trials, 80);
  EXPECT_EQ(dying.measured_, 30);
}

TEST_F(SeveralDevices, OneThatJoinsAndCannotSetTheProblemIsLeftOut) {
  Device good, bad;
  bad.problem_ = absl::ResourceExhaustedError("no memory");
  EXPECT_EQ(Search({&good}, 40, {&bad})->trials, 40);
  EXPECT_EQ(bad.measured_, 0);
}

TEST_F(SeveralDevices, OneThatCannotSetTheProblemIsLeftOut) {
  Device good, bad;
  bad.problem_ = absl::ResourceExhaustedError("no memory");
  EXPECT_EQ(Search({&bad, &good}, 20)->trials, 20);
  EXPECT_EQ(bad.measured_, 0);
}

TEST_F(SeveralDevices, WhenAllGiveUpTheirErrorIsGivenWithWhatTheTrialsHaveShown) {
  Device a(5), b(9);
  const auto result = Search({&a, &b}, 100);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->incomplete.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(result->incomplete.message()), HasSubstr("it smokes"));
  EXPECT_GT(result->measurement.time_ns(), 0);
}

TEST_F(SeveralDevices, MustBeAlike) {
  Device a, b;
  b.description().cores = 77;
  b.description().name = "another one";
  const auto result = Search({&a, &b}, 10);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("another one"));
  EXPECT_EQ(Search({}, 10).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Pool, AsksOnlyForWhatWasSubmitted) {
  Device device;
  Runner* runner = &device;
  RunnerPool pool(absl::MakeConstSpan(&runner, 1), 4);
  EXPECT_EQ(pool.Next().status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(pool.SetProblem(MatMulExpression(8, 8, 8), 1, {}).ok());
  for (int64_t number : {3, 1, 2}) {
    Kernel kernel;
    kernel.source = std::to_string(number);
    pool.Submit(number, kernel, {});
  }
  std::vector<int64_t> numbers;
  for (int n = 0; n < 3; ++n) numbers.push_back(pool.Next()->number);
  EXPECT_THAT(numbers, ElementsAre(3, 1, 2));
}

// Measures nothing until it is interrupted.
class Waiting final : public Runner {
 public:
  const DeviceDescription& device() const override { return device_; }
  Status SetProblem(const ComputationView&, uint64_t, const Numerics&) override {
    return absl::OkStatus();
  }
  Result<int64_t> LoopNestTime() override { return 0; }
  Status Submit(int64_t number, const Kernel&, const MeasureOptions&) override {
    numbers_.push_back(number);
    has_some_ = true;
    return absl::OkStatus();
  }
  bool has_some() const { return has_some_; }
  Result<Finished> Next() override {
    interrupted_.WaitForNotification();
    const int64_t number = numbers_.front();
    numbers_.pop_front();
    return Finished{number, CancelledMeasurement()};
  }
  Result<MachinePeaks> Peaks() override { return MachinePeaks{}; }
  void Interrupt() override {
    if (!interrupted_.HasBeenNotified()) interrupted_.Notify();
  }

 private:
  DeviceDescription device_;
  std::deque<int64_t> numbers_;
  std::atomic<bool> has_some_ = false;
  absl::Notification interrupted_;
};

TEST(Pool, WhatIsAbandonedComesBackCancelled) {
  Waiting device;
  Runner* runner = &device;
  RunnerPool pool(absl::MakeConstSpan(&runner, 1), 2);
  ASSERT_TRUE(pool.SetProblem(MatMulExpression(8, 8, 8), 1, {}).ok());
  for (int64_t number = 0; number < 5; ++number) pool.Submit(number, {}, {});
  std::set<int64_t> numbers;
  for (int n = 0; n < 5; ++n) {
    pool.Abandon();
    const Result<Runner::Finished> finished = pool.Next();
    ASSERT_TRUE(finished.ok()) << finished.status();
    EXPECT_TRUE(WasCancelled(finished->measurement));
    numbers.insert(finished->number);
  }
  EXPECT_EQ(numbers.size(), 5);
  EXPECT_EQ(pool.Next().status().code(), absl::StatusCode::kFailedPrecondition);
}

// Is to have kernels measured elsewhere, from where it hears nothing, or all at once.
class Elsewhere final : public Runner {
 public:
  const DeviceDescription& device() const override { return device_; }
  Status SetProblem(const ComputationView&, uint64_t, const Numerics&) override {
    return absl::OkStatus();
  }
  Result<int64_t> LoopNestTime() override { return 0; }
  Status Submit(int64_t number, const Kernel&, const MeasureOptions&) override {
    absl::MutexLock lock(&mutex_);
    submitted_.push_back(number);
    most_ = std::max(most_, ++held_);
    Measurement measurement;
    measurement.times_ns = {5};
    if (!is_silent_) Finish({number, measurement});
    return absl::OkStatus();
  }
  Result<Finished> Next() override {
    absl::MutexLock lock(&mutex_);
    const auto has_news = [this] { return !finished_.empty(); };
    mutex_.Await(absl::Condition(&has_news));
    Finished first = std::move(finished_.front());
    finished_.pop_front();
    --held_;
    return first;
  }
  bool TakeBack(int64_t number) override {
    absl::MutexLock lock(&mutex_);
    return Finish({number, CancelledMeasurement()});
  }
  Result<MachinePeaks> Peaks() override { return MachinePeaks{}; }
  void Interrupt() override {
    absl::MutexLock lock(&mutex_);
    while (!submitted_.empty()) Finish({submitted_.front(), CancelledMeasurement()});
  }

  void SetSilent(bool is_silent) {
    absl::MutexLock lock(&mutex_);
    is_silent_ = is_silent;
    most_ = 0;
  }
  // Kernels that it had at once since then.
  int most() {
    absl::MutexLock lock(&mutex_);
    return most_;
  }

 private:
  bool Finish(Finished finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::erase(submitted_, finished.number) == 0) return false;
    finished_.push_back(std::move(finished));
    return true;
  }

  DeviceDescription device_;
  absl::Mutex mutex_;
  bool is_silent_ ABSL_GUARDED_BY(mutex_) = true;
  int held_ ABSL_GUARDED_BY(mutex_) = 0, most_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<int64_t> submitted_ ABSL_GUARDED_BY(mutex_);
  std::deque<Finished> finished_ ABSL_GUARDED_BY(mutex_);
};

// Numbers and code that none had before.
class NewKernels {
 public:
  explicit NewKernels(RunnerPool& pool) : pool_(pool) {}

  void Submit(int count) {
    for (int n = 0; n < count; ++n) {
      Kernel kernel;
      kernel.source = std::to_string(++submitted_);
      pool_.Submit(submitted_, kernel, {});
    }
  }
  // Expects measurements of so many, each once.
  void Finish(int count) {
    for (int n = 0; n < count; ++n) {
      const Result<Runner::Finished> finished = pool_.Next();
      ASSERT_TRUE(finished.ok()) << finished.status();
      EXPECT_FALSE(WasCancelled(finished->measurement));
      EXPECT_TRUE(numbers_.insert(finished->number).second) << finished->number;
    }
    EXPECT_EQ(std::ssize(numbers_), submitted_);
    EXPECT_EQ(pool_.Next().status().code(), absl::StatusCode::kFailedPrecondition);
  }

 private:
  RunnerPool& pool_;
  int64_t submitted_ = 0;
  std::set<int64_t> numbers_;
};

TEST(Pool, WhatASilentOneHasIsMeasuredByOneThatHasNothingElseToDo) {
  Elsewhere elsewhere;
  Runner* first = &elsewhere;
  RunnerPool pool(absl::MakeConstSpan(&first, 1), 2);
  ASSERT_TRUE(pool.SetProblem(MatMulExpression(8, 8, 8), 1, {}).ok());
  NewKernels kernels(pool);
  // All are its, until there is another one.
  kernels.Submit(2);
  ASSERT_TRUE(Eventually([&] { return elsewhere.most() > 0; }));
  Device device;
  pool.Add(&device);
  kernels.Submit(10);
  kernels.Finish(12);
  EXPECT_EQ(device.measured_, 12);
  EXPECT_EQ(pool.count(), 2);
  // It is tried with one at a time, until it says something.
  elsewhere.SetSilent(true);
  kernels.Submit(40);
  kernels.Finish(40);
  EXPECT_LE(elsewhere.most(), 1);
  EXPECT_EQ(device.measured_, 52);
  elsewhere.SetSilent(false);
  for (int round = 0; round < 1'000 && elsewhere.most() < 2; ++round) {
    kernels.Submit(40);
    kernels.Finish(40);
  }
  EXPECT_EQ(elsewhere.most(), 2);
}

TEST(Pool, WhatIsMeasuredHereIsNotTakenOver) {
  Waiting busy;
  Device device;
  Runner* first = &busy;
  RunnerPool pool(absl::MakeConstSpan(&first, 1), 1);
  ASSERT_TRUE(pool.SetProblem(MatMulExpression(8, 8, 8), 1, {}).ok());
  pool.Submit(0, {}, {});
  ASSERT_TRUE(Eventually([&] { return busy.has_some(); }));
  pool.Add(&device);
  for (int64_t number = 1; number < 4; ++number) {
    Kernel kernel;
    kernel.source = std::to_string(number);
    pool.Submit(number, kernel, {});
  }
  for (int n = 0; n < 3; ++n) EXPECT_NE(pool.Next()->number, 0);
  absl::SleepFor(absl::Milliseconds(600));
  EXPECT_EQ(device.measured_, 3);
  pool.Abandon();
  EXPECT_EQ(pool.Next()->number, 0);
}

TEST(Pool, EndsWithKernelsInWork) {
  Device device;
  Runner* runner = &device;
  RunnerPool pool(absl::MakeConstSpan(&runner, 1), 4);
  ASSERT_TRUE(pool.SetProblem(MatMulExpression(8, 8, 8), 1, {}).ok());
  for (int64_t number = 0; number < 20; ++number) {
    Kernel kernel;
    kernel.source = std::to_string(number);
    pool.Submit(number, kernel, {});
  }
}

}  // namespace
}  // namespace mdh::several_devices_test

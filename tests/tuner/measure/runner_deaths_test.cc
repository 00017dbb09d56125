// Executors, compile workers and runners that are killed at random moments: what was not in their
// hands stays valid; and devices on which nothing works.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/tuner/device_runner_fixture.h"
#include "tuner/process/clock.h"

namespace mdh::runner_deaths_test {
namespace {

using ::testing::HasSubstr;

// Kills processes of a name now and then until it is told to stop.
class Killer {
 public:
  Killer(std::string name, int64_t least_pause_us, int64_t most_pause_us)
      : name_(std::move(name)),
        pause_us_(least_pause_us, most_pause_us),
        thread_([this] { Run(); }) {}
  ~Killer() { Stop(); }
  Killer(const Killer&) = delete;
  Killer& operator=(const Killer&) = delete;

  // How many were killed.
  int Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return killed_;
  }

 private:
  void Run() {
    std::mt19937 rng(1);
    while (!stop_) {
      usleep(static_cast<useconds_t>(pause_us_(rng)));
      for (const pid_t pid : DescendantsNamed(name_)) {
        if (kill(pid, SIGKILL) == 0) ++killed_;
      }
    }
  }

  const std::string name_;
  std::uniform_int_distribution<int64_t> pause_us_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> killed_ = 0;
  std::thread thread_;
};

class DeathsTest : public DeviceRunner {
 protected:
  // Right kernels that differ, so that each is compiled.
  std::vector<Kernel> RightKernels(int count) const {
    std::vector<Kernel> kernels;
    for (int k = 0; k < count; ++k) {
      kernels.push_back(Make(absl::StrCat(kRightDeviceAdd, "  // ", k, "\n")));
    }
    return kernels;
  }
  // How long one kernel takes here, where others may be busy.
  int64_t TimeOfOneUs() {
    const int64_t begin_ns = NowNs();
    EXPECT_EQ(MeasureOne(Right()).outcome, TrialOutcome::kOk);
    return (NowNs() - begin_ns) / 1000;
  }
  // All trials are valid but those that died with something that was killed.
  static void ExpectValid(const std::vector<Measurement>& measured, const std::string& death,
                          int killed) {
    int lost = 0;
    for (const Measurement& measurement : measured) {
      if (measurement.outcome == TrialOutcome::kOk) continue;
      EXPECT_THAT(measurement.reason, HasSubstr(death));
      ++lost;
    }
    EXPECT_LE(lost, killed);
  }
};

TEST_P(DeathsTest, ExecutorsThatAreKilledLoseTheirTrialOnly) {
  Killer killer("mdh-executor", 1'000'000, 2'500'000);
  const Result<std::vector<Measurement>> measured =
      runner_->Measure(RightKernels(12), {.target_time_ns = 100'000'000});
  const int killed = killer.Stop();
  ASSERT_TRUE(measured.ok()) << measured.status();
  ExpectValid(*measured, "SIGKILL", killed);
  EXPECT_EQ(MeasureOne(Right()).outcome, TrialOutcome::kOk);
}

TEST_P(DeathsTest, CompileWorkersThatAreKilledLoseTheirKernelOnly) {
  Killer killer("mdh-compile", 600'000, 2'500'000);
  const Result<std::vector<Measurement>> measured = runner_->Measure(RightKernels(12), {});
  const int killed = killer.Stop();
  ASSERT_TRUE(measured.ok()) << measured.status();
  ExpectValid(*measured, "the compiler ended by SIGKILL", killed);
  EXPECT_EQ(MeasureOne(Right()).outcome, TrialOutcome::kOk);
}

// A runner that dies three times without having measured anything is given up.
TEST_P(DeathsTest, RunnersThatAreKilledLoseNothing) {
  const int64_t pause_us = std::max<int64_t>(7'000'000, 6 * TimeOfOneUs());
  Killer killer("mdh-runner", pause_us, pause_us * 9 / 7);
  const Result<std::vector<Measurement>> measured =
      runner_->Measure(RightKernels(12), {.target_time_ns = 100'000'000});
  killer.Stop();
  ASSERT_TRUE(measured.ok()) << measured.status();
  ExpectValid(*measured, "", 0);
  EXPECT_EQ(MeasureOne(Right()).outcome, TrialOutcome::kOk);
}

TEST_P(DeathsTest, ADeviceOnWhichNothingWorksIsUnhealthyUntilSomethingDoes) {
  {
    Killer killer("mdh-executor", 1'000, 2'000);
    const Result<std::vector<Measurement>> measured = runner_->Measure(RightKernels(5), {});
    EXPECT_EQ(measured.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(measured.status().message()), HasSubstr("unhealthy: " + selector_));
    const Status health = runner_->Health();
    EXPECT_EQ(health.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(health.message()), HasSubstr("unhealthy: "));
  }
  EXPECT_TRUE(runner_->Health().ok());
  EXPECT_EQ(MeasureOne(Right()).outcome, TrialOutcome::kOk);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeathsTest, ::testing::Values("opencl", "cuda"),
                         [](const auto& info) { return info.param; });

TEST_F(RunnerTest, KilledRunnersOfTheCpuLoseNothing) {
  std::vector<Kernel> kernels;
  for (int k = 0; k < 12; ++k) {
    kernels.push_back(AddKernel(kSize, absl::StrCat(kRightAdd, "  // ", k, "\n")));
  }
  // With the time that a new one needs before it measures.
  const int64_t begin_ns = NowNs();
  StartRunner();
  EXPECT_EQ(MeasureOne(kernels[0]).outcome, TrialOutcome::kOk);
  const int64_t pause_us = std::max<int64_t>(1'000'000, 2 * (NowNs() - begin_ns) / 1000);
  Killer killer("mdh-runner", pause_us, 2 * pause_us);
  const Result<std::vector<Measurement>> measured =
      runner_->Measure(kernels, {.min_repeats = 1000, .max_repeats = 100'000});
  killer.Stop();
  ASSERT_TRUE(measured.ok()) << measured.status();
  for (const Measurement& measurement : *measured) {
    EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
  }
}

}  // namespace
}  // namespace mdh::runner_deaths_test

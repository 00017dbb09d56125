// Devices that measure nothing, and take their time for it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/expression/canonical.h"
#include "server/devices/tuning_device.h"
#include "tuner/measure/runner.h"
#include "tuner/measure/trial/verdict.h"

namespace mdh {

// What the device of a daemon does; the test holds it beside the runner.
struct SleepingDevice {
  explicit SleepingDevice(absl::Duration each) : each(each) {}

  const absl::Duration each;      // a trial
  std::atomic<int> measured = 0;  // trials
  std::atomic<int> problems = 0;  // that were set
  std::atomic<int> lasts = -1;    // after so many trials it gives up; -1: never
  std::atomic<bool> cannot_set_problems = false;
  std::atomic<bool> is_dead = false;
  std::atomic<bool> has_new_compilers = false;
};

// Its times are a function of the kernel: the same on all devices.
class SleepingRunner final : public Runner {
 public:
  SleepingRunner(SleepingDevice& device, DeviceDescription description)
      : device_(device), description_(std::move(description)) {}

  const DeviceDescription& device() const override { return description_; }
  bool HasNewCompilers() const override { return device_.has_new_compilers; }
  Status SetProblem(const ComputationView&, uint64_t, const Numerics&) override {
    ++device_.problems;
    if (device_.cannot_set_problems) return absl::ResourceExhaustedError("no memory for inputs");
    return Health();
  }
  Result<int64_t> LoopNestTime() override { return 1'000'000'000; }
  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions&) override {
    absl::MutexLock lock(&mutex_);
    const int64_t time_ns =
        1'000'000 + std::stoll(Sha256Hex(kernel.source).substr(0, 6), nullptr, 16);
    submitted_.push_back({number, {}});
    submitted_.back().measurement.times_ns = {time_ns, time_ns + 2, time_ns + 1};
    return absl::OkStatus();
  }
  Result<Finished> Next() override {
    absl::MutexLock lock(&mutex_);
    if (submitted_.empty()) return absl::FailedPreconditionError("nothing is submitted");
    const auto is_cut = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return submitted_.front().measurement.outcome != TrialOutcome::kOk;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&is_cut), device_.each);
    if (device_.measured == device_.lasts) device_.is_dead = true;
    if (device_.is_dead) {
      submitted_.clear();
      return Health();
    }
    Finished first = std::move(submitted_.front());
    submitted_.pop_front();
    if (first.measurement.outcome == TrialOutcome::kOk) ++device_.measured;
    return first;
  }
  Result<MachinePeaks> Peaks() override { return MachinePeaks{}; }
  Status Health() override {
    return device_.is_dead ? absl::FailedPreconditionError("unhealthy: it smokes")
                           : absl::OkStatus();
  }
  void Interrupt() override {
    absl::MutexLock lock(&mutex_);
    for (Finished& finished : submitted_) finished.measurement = CancelledMeasurement();
  }

 private:
  SleepingDevice& device_;
  const DeviceDescription description_;
  absl::Mutex mutex_;
  std::deque<Finished> submitted_ ABSL_GUARDED_BY(mutex_);
};

inline std::unique_ptr<TuningDevice> StartSleeping(SleepingDevice& device,
                                                   const DeviceDescription& description) {
  return TuningDevice::Start(
      {.name = "devices/cpu",
       .start = [&device, description](const RunnerOptions&) -> Result<std::unique_ptr<Runner>> {
         return std::make_unique<SleepingRunner>(device, description);
       }},
      description);
}

}  // namespace mdh

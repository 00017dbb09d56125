// Devices without a machine, and searches on them that end when the test says so.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "codegen/choose/default_parameters.h"
#include "server/devices/tuning_device.h"
#include "server/jobs/job_search.h"
#include "tuner/measure/runner.h"

namespace mdh {

inline DeviceDescription FakeCpu() {
  DeviceDescription cpu;
  cpu.name = "fake CPU";
  cpu.compiler = "fake cc 1";
  return cpu;
}

inline DeviceDescription FakeGpu(const std::string& name = "fake GPU") {
  DeviceDescription gpu = *DescribeCudaArchitecture(90);
  gpu.name = name;
  gpu.compiler = "fake nvrtc 1";
  return gpu;
}

// What a fake device does; the test holds it beside the runner.
class FakeDevice {
 public:
  explicit FakeDevice(DeviceDescription description) : description(std::move(description)) {}

  void SetHealth(Status health) {
    absl::MutexLock lock(&mutex_);
    health_ = std::move(health);
  }
  Status health() const {
    absl::MutexLock lock(&mutex_);
    return health_;
  }

  DeviceDescription description;
  Status start;                 // what starting its runner gives
  std::atomic<int> starts = 0;  // of runners
  std::atomic<int> interrupts = 0;
  std::atomic<int> submitted = 0;  // kernels that are not handed out
  std::atomic<int> peak_measurements = 0;
  std::atomic<bool> has_disturbed_peaks = false;

 private:
  mutable absl::Mutex mutex_;
  Status health_;
};

class FakeRunner final : public Runner {
 public:
  explicit FakeRunner(FakeDevice& device) : device_(device) {}
  const DeviceDescription& device() const override { return device_.description; }
  Status SetProblem(const ComputationView&, uint64_t, const Numerics&) override {
    if (device_.submitted > 0) return absl::FailedPreconditionError("kernels are submitted");
    return device_.health();
  }
  Result<int64_t> LoopNestTime() override { return 1'000'000; }
  Status Submit(int64_t, const Kernel&, const MeasureOptions&) override {
    ++device_.submitted;
    return absl::OkStatus();
  }
  Result<Finished> Next() override {
    if (device_.submitted == 0) return absl::FailedPreconditionError("nothing is submitted");
    --device_.submitted;
    return Finished{1, {}};
  }
  Result<MachinePeaks> Peaks() override {
    ++device_.peak_measurements;
    MachinePeaks peaks{1e12, 5e11, 1e11, 2e11, 5000, 3e9, device_.has_disturbed_peaks};
    peaks.units.half_flops_per_s = 9e12;
    return peaks;
  }
  Status Health() override { return device_.health(); }
  void Interrupt() override { ++device_.interrupts; }

 private:
  FakeDevice& device_;
};

inline StartRunner StarterOf(FakeDevice& device) {
  return [&device](const RunnerOptions&) -> Result<std::unique_ptr<Runner>> {
    ++device.starts;
    MDH_RETURN_IF_ERROR(device.start);
    return std::make_unique<FakeRunner>(device);
  };
}

// Several devices by name, started.
class FakeDevices {
 public:
  FakeDevice& Add(const std::string& name, DeviceDescription description) {
    fakes_.push_back(std::make_unique<FakeDevice>(std::move(description)));
    FakeDevice& fake = *fakes_.back();
    devices_.push_back(
        TuningDevice::Start({.name = name, .start = StarterOf(fake)}, fake.description));
    return fake;
  }
  // All that were added.
  std::vector<std::unique_ptr<TuningDevice>> Take() { return std::move(devices_); }

 private:
  std::vector<std::unique_ptr<FakeDevice>> fakes_;
  std::vector<std::unique_ptr<TuningDevice>> devices_;
};

// Stands for mdh::Tune: a search makes one trial and then waits for Release or cancellation; it
// goes on with the runners that are healthy, and fails when none is left.
class FakeTune {
 public:
  Result<TuningResult> operator()(const Expression& expression, absl::Span<Runner* const> runners,
                                  const TuningOptions& options,
                                  const std::function<void(const TuningProgress&)>& on_trial,
                                  const std::atomic<bool>& cancelled) {
    const DeviceDescription& device = runners.front()->device();
    const SystemModel model =
        device.kind == DeviceKind::kCpu ? OpenMpSimdRegistersModel() : CudaModel();
    Trial trial{1, DefaultParameters(expression, model, device), {}};
    trial.measurement.times_ns = {time_ns};
    trial.measurement.is_disturbed = is_disturbed;
    if (!reports_its_trial && options.on_step) {
      options.on_step({SearchPhase::kReference, 500, 7'000'000'000});
    }
    if (reports_its_trial) on_trial({&trial, 1, 0, time_ns.load(), &trial.parameters, 1000});
    MDH_RETURN_IF_ERROR(
        WaitForEnd(expression, {runners.begin(), runners.end()}, options, cancelled));
    TuningResult result;
    result.parameters = trial.parameters;
    result.measurement = trial.measurement;
    result.kernel.entry = "mdh_fake";
    result.kernel.source = "int fake;";
    result.trials = 1;
    return result;
  }

  // Lets one search end by itself.
  void Release() {
    absl::MutexLock lock(&mutex_);
    ++released_;
  }
  // For each search the number of configurations that it was given to start from.
  std::vector<size_t> starts() {
    absl::MutexLock lock(&mutex_);
    return starts_;
  }
  // The size of the first dimension, for each search in the order in which they began.
  std::vector<int64_t> order() {
    absl::MutexLock lock(&mutex_);
    return order_;
  }
  // How many runners the search for that size has; 0: it does not run.
  size_t CountRunners(int64_t size) {
    absl::MutexLock lock(&mutex_);
    return runners_[size];
  }

  // What searches were told to end by instead of what they began with.
  std::vector<std::string> extensions() {
    absl::MutexLock lock(&mutex_);
    return extensions_;
  }

  void Fail(Status failure) {
    absl::MutexLock lock(&mutex_);
    failure_ = std::move(failure);
  }
  std::atomic<int64_t> time_ns = 1'000'000;
  std::atomic<bool> is_disturbed = false;
  // Otherwise nothing is known of a search until it ends.
  std::atomic<bool> reports_its_trial = true;

 private:
  Status WaitForEnd(const Expression& expression, std::vector<Runner*> runners,
                    const TuningOptions& options, const std::atomic<bool>& cancelled) {
    const int64_t size = expression.dimensions().front().size;
    absl::MutexLock lock(&mutex_);
    starts_.push_back(options.start.size());
    order_.push_back(size);
    while (released_ == 0 && !cancelled) {
      if (options.joining) {
        const std::vector<Runner*> joining = options.joining();
        runners.insert(runners.end(), joining.begin(), joining.end());
      }
      if (options.extension) {
        if (const auto extension = options.extension()) extensions_.push_back(extension->ToText());
      }
      for (size_t n = 0; n < runners.size();) {
        if (runners[n]->Health().ok()) {
          ++n;
        } else {
          runners.erase(runners.begin() + static_cast<std::ptrdiff_t>(n));
        }
      }
      runners_[size] = runners.size();
      if (runners.empty()) return absl::UnavailableError("no runner is left");
      ends_.WaitWithTimeout(&mutex_, absl::Milliseconds(2));
    }
    runners_[size] = 0;
    if (released_ > 0) --released_;
    return failure_;
  }

  absl::Mutex mutex_;
  absl::CondVar ends_;
  int released_ = 0;
  Status failure_;
  std::vector<size_t> starts_;
  std::vector<int64_t> order_;
  std::vector<std::string> extensions_;
  std::map<int64_t, size_t> runners_;
};

// Stands for mdh::MeasureInTurns: the last candidate is the fastest, steps that run together take
// 700 us, and an unfused one 900 us.
class FakeTurns {
 public:
  Result<PipelineTurns> operator()(Runner& runner, const Pipeline&,
                                   std::vector<PipelineCandidate> candidates,
                                   const TuningOptions& options, const std::atomic<bool>& cancelled,
                                   MorePipelines* /*more*/) {
    duration_ns = options.abort.NanosecondsLeft({}).value_or(0);
    ++runs;
    while (is_waiting && !cancelled) absl::SleepFor(absl::Milliseconds(2));
    if (cancelled) return absl::CancelledError("cancelled");
    MDH_RETURN_IF_ERROR(runner.Health());
    if (is_failing) return absl::FailedPreconditionError("every kernel is wrong");
    PipelineTurns turns;
    for (PipelineCandidate& candidate : candidates) {
      Measurement measurement;
      measurement.times_ns = {candidate.is_unfused() ? int64_t{900'000}
                              : !candidate.parameters.groups.empty()
                                  ? int64_t{700'000}
                                  : 500'000 - std::ssize(turns.measured)};
      if (candidate.is_unfused()) turns.unfused_ns = 900'000;
      turns.measured.insert(turns.measured.begin(), {std::move(candidate), measurement});
    }
    std::stable_sort(turns.measured.begin(), turns.measured.end(),
                     [](const MeasuredPipeline& a, const MeasuredPipeline& b) {
                       return a.measurement.time_ns() < b.measurement.time_ns();
                     });
    turns.default_ns = turns.measured.back().measurement.time_ns();
    return turns;
  }
  std::atomic<int> runs = 0;
  std::atomic<int64_t> duration_ns = 0;  // that the latest run was given
  std::atomic<bool> is_waiting = false;
  std::atomic<bool> is_failing = false;
};

}  // namespace mdh

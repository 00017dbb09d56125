#include "server/tuning_backend.h"

#include <utility>

namespace mdh {
namespace {

class CpuBackend : public TuningBackend {
 public:
  explicit CpuBackend(std::unique_ptr<Runner> runner)
      : device_(runner->device()), runner_(std::move(runner)) {}

  const DeviceDescription& device() const override { return device_; }
  Status CanTune() const override { return absl::OkStatus(); }

  Result<TuningResult> Tune(const Expression& expression, const TuningOptions& options,
                            const std::function<void(const TuningProgress&)>& on_trial,
                            const std::atomic<bool>& cancelled) override {
    absl::MutexLock lock(&in_use_);
    return mdh::Tune(expression, *runner_, options, on_trial, cancelled);
  }

  Result<MachinePeaks> Peaks() override {
    absl::MutexLock lock(&in_use_);
    return runner_->Peaks();
  }

  void Interrupt() override { runner_->Interrupt(); }

 private:
  const DeviceDescription device_;
  absl::Mutex in_use_;  // the runner serves one caller at a time; only Interrupt may cut in
  const std::unique_ptr<Runner> runner_;
};

class LookupOnlyBackend : public TuningBackend {
 public:
  LookupOnlyBackend(DeviceDescription device, Status reason)
      : device_(std::move(device)), reason_(std::move(reason)) {}

  const DeviceDescription& device() const override { return device_; }
  Status CanTune() const override { return reason_; }
  Result<TuningResult> Tune(const Expression&, const TuningOptions&,
                            const std::function<void(const TuningProgress&)>&,
                            const std::atomic<bool>&) override {
    return reason_;
  }
  Result<MachinePeaks> Peaks() override { return reason_; }
  void Interrupt() override {}

 private:
  const DeviceDescription device_;
  const Status reason_;
};

}  // namespace

Result<std::unique_ptr<TuningBackend>> StartCpuBackend(const RunnerOptions& options) {
  Result<std::unique_ptr<Runner>> runner = Runner::Start(options);
  if (runner.ok()) return std::make_unique<CpuBackend>(*std::move(runner));
  MDH_ASSIGN_OR_RETURN(DeviceDescription device, DescribeHostCpu());
  Status reason = absl::FailedPreconditionError(runner.status().message());
  return std::make_unique<LookupOnlyBackend>(std::move(device), std::move(reason));
}

}  // namespace mdh

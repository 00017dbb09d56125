#include "server/devices/tuning_device.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace mdh {

TuningDevice::TuningDevice(TuningDeviceOptions options, DeviceDescription description)
    : TuningDevice(std::move(options), std::move(description), nullptr) {}

TuningDevice::TuningDevice(TuningDeviceOptions options, DeviceDescription description,
                           std::unique_ptr<Runner> runner)
    : options_(std::move(options)), runner_(std::move(runner)) {
  Note(std::move(description));
  if (runner_ == nullptr) return;
  state_.health = v1::DEVICE_HEALTH_HEALTHY;
  state_.confinement = runner_->confinement();
}

std::unique_ptr<TuningDevice> TuningDevice::Start(TuningDeviceOptions options,
                                                  DeviceDescription description) {
  Result<std::unique_ptr<Runner>> runner = options.start(options.runner);
  if (runner.ok()) {
    DeviceDescription found = (*runner)->device();
    return std::unique_ptr<TuningDevice>(
        new TuningDevice(std::move(options), std::move(found), *std::move(runner)));
  }
  auto device = std::make_unique<TuningDevice>(std::move(options), std::move(description));
  device->SetHealth(runner.status());
  absl::MutexLock lock(&device->mutex_);
  device->is_hopeless_ = true;
  return device;
}

void TuningDevice::Note(DeviceDescription description) {
  KeyEnvironment environment = KeyEnvironment::Of(description);
  absl::MutexLock lock(&mutex_);
  all_said_.push_back(
      std::make_unique<const Said>(Said{std::move(description), std::move(environment)}));
  now_.store(all_said_.back().get(), std::memory_order_release);
}

Status TuningDevice::TakeDescription(const DeviceDescription& found) {
  const KeyEnvironment said = KeyEnvironment::Of(found);
  // Records are kept under what was found first.
  if (said.device_fingerprint != fingerprint()) {
    return FailedPrecondition("the runner found another device: ", said.device_fingerprint,
                              " instead of ", fingerprint());
  }
  if (said.compiler == environment().compiler) return absl::OkStatus();
  spdlog::info("device={} compiles with {} now, instead of {}", name(), said.compiler,
               environment().compiler);
  Note(found);
  return absl::OkStatus();
}

bool TuningDevice::HasNewCompilers() const {
  absl::MutexLock lock(&mutex_);
  return runner_ != nullptr && runner_->HasNewCompilers();
}

TuningDevice::State TuningDevice::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

Status TuningDevice::CanTune() const {
  absl::MutexLock lock(&mutex_);
  if (runner_ != nullptr || state_.health == v1::DEVICE_HEALTH_STARTING) return absl::OkStatus();
  return FailedPrecondition(state_.reason);
}

bool TuningDevice::IsFree() const {
  absl::MutexLock lock(&mutex_);
  return !state_.is_held && state_.health == v1::DEVICE_HEALTH_HEALTHY;
}

bool TuningDevice::TryHold(const std::string& job) {
  absl::MutexLock lock(&mutex_);
  if (state_.is_held || state_.health != v1::DEVICE_HEALTH_HEALTHY) return false;
  state_.is_held = true;
  state_.job = job;
  return true;
}

bool TuningDevice::TryHoldForCheck() {
  absl::MutexLock lock(&mutex_);
  const bool is_fine = state_.health == v1::DEVICE_HEALTH_HEALTHY &&
                       (runner_ == nullptr || !runner_->HasNewCompilers());
  if (state_.is_held || is_hopeless_ || is_fine) return false;
  state_.is_held = true;
  state_.job.clear();
  return true;
}

void TuningDevice::Release() {
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mutex_);
    state_.is_held = false;
    state_.job.clear();
    listener = listener_;
  }
  if (listener) listener();
}

void TuningDevice::SetListener(std::function<void()> listener) {
  absl::MutexLock lock(&mutex_);
  listener_ = std::move(listener);
}

Status TuningDevice::CheckHealth() {
  Runner* runner = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    runner = runner_.get();
  }
  Status health = runner == nullptr ? StartMyRunner() : runner->Health();
  if (health.ok() && runner != nullptr) health = TakeDescription(runner->device());
  SetHealth(health);
  if (health.ok()) return health;
  return FailedPrecondition(name(), ": ", std::string(health.message()));
}

Status TuningDevice::StartMyRunner() {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, options_.start(options_.runner));
  MDH_RETURN_IF_ERROR(TakeDescription(runner->device()));
  absl::MutexLock lock(&mutex_);
  runner_ = std::move(runner);
  state_.confinement = runner_->confinement();
  return absl::OkStatus();
}

void TuningDevice::SetHealth(const Status& health) {
  const v1::DeviceHealth next =
      health.ok() ? v1::DEVICE_HEALTH_HEALTHY : v1::DEVICE_HEALTH_UNHEALTHY;
  absl::MutexLock lock(&mutex_);
  const std::string reason(health.message());
  if (next == state_.health && reason == state_.reason) return;
  if (health.ok()) {
    spdlog::info("device={} is healthy", name());
  } else {
    spdlog::warn("device={} is unhealthy: {}", name(), reason);
  }
  state_.health = next;
  state_.reason = reason;
}

Runner& TuningDevice::runner() const {
  absl::MutexLock lock(&mutex_);
  return *runner_;
}

void TuningDevice::Interrupt() {
  absl::MutexLock lock(&mutex_);
  if (runner_ != nullptr) runner_->Interrupt();
}

}  // namespace mdh

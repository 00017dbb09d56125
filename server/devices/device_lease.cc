#include "server/devices/device_lease.h"

namespace mdh {

void DeviceLease::Revoke() {
  is_revoked_ = true;
  Interrupt();
}

Status DeviceLease::CheckHealth() {
  if (is_given_up()) return absl::OkStatus();
  return device_.CheckHealth();
}

Status DeviceLease::CheckHeld() {
  if (!is_revoked_) return absl::OkStatus();
  GiveUp();
  return FailedPrecondition("unhealthy: ", device_.name(), " was given to another job");
}

void DeviceLease::GiveUp() {
  if (is_given_up()) return;
  if (submitted_ > 0) runner_.Interrupt();
  while (submitted_ > 0 && runner_.Next().ok()) --submitted_;
  {
    absl::MutexLock lock(&mutex_);
    is_given_up_ = true;
    runner_.SetDeadline(0);
    runner_.SetStepListener(nullptr);
  }
  // From here on the runner may be another job's.
  device_.Release();
}

bool DeviceLease::is_given_up() const {
  absl::MutexLock lock(&mutex_);
  return is_given_up_;
}

Status DeviceLease::SetProblem(const ComputationView& computation, uint64_t seed,
                               const Numerics& numerics) {
  MDH_RETURN_IF_ERROR(CheckHeld());
  if (joins_) Peaks().IgnoreError();
  MDH_RETURN_IF_ERROR(CheckHeld());
  return IfHeld(runner_.SetProblem(computation, seed, numerics));
}

Result<int64_t> DeviceLease::LoopNestTime() {
  MDH_RETURN_IF_ERROR(CheckHeld());
  return IfHeld(runner_.LoopNestTime());
}

void DeviceLease::SetDeadline(int64_t deadline_ns) {
  absl::MutexLock lock(&mutex_);
  if (!is_given_up_) runner_.SetDeadline(deadline_ns);
}

void DeviceLease::SetStepListener(OnStep on_step) {
  if (!is_given_up()) runner_.SetStepListener(std::move(on_step));
}

Status DeviceLease::Submit(int64_t number, const Kernel& kernel, const MeasureOptions& options) {
  MDH_RETURN_IF_ERROR(CheckHeld());
  const Status status = runner_.Submit(number, kernel, options);
  if (status.ok()) ++submitted_;
  if (status.ok() && places_ != nullptr) digests_[number] = KernelDigest(kernel);
  return status;
}

Result<Runner::Finished> DeviceLease::Next() {
  MDH_RETURN_IF_ERROR(CheckHeld());
  Result<Finished> finished = runner_.Next();
  // After an error nothing is submitted any more.
  submitted_ = finished.ok() ? submitted_ - 1 : 0;
  if (finished.ok() && !is_revoked_) NotePlace(finished->number);
  // One that was cut short by Revoke is measured elsewhere.
  return IfHeld(std::move(finished));
}

void DeviceLease::NotePlace(int64_t number) {
  const auto digest = digests_.find(number);
  if (digest == digests_.end()) return;
  places_->Note(digest->second, device_.name());
  digests_.erase(digest);
}

Result<MachinePeaks> DeviceLease::Peaks() {
  MDH_RETURN_IF_ERROR(CheckHeld());
  return IfHeld(runner_.Peaks());
}

Status DeviceLease::Health() {
  MDH_RETURN_IF_ERROR(CheckHeld());
  return runner_.Health();
}

void DeviceLease::Interrupt() {
  absl::MutexLock lock(&mutex_);
  if (!is_given_up_) device_.Interrupt();
}

}  // namespace mdh

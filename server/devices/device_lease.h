// A job's hold on a device, which can be taken back while the job runs.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "server/devices/trial_places.h"
#include "server/devices/tuning_device.h"
#include "tuner/measure/runner.h"

namespace mdh {

// The device's runner, until the lease is revoked: then calls fail as those of a runner whose
// device is unhealthy, and the device is released as soon as it does nothing any more. Whoever
// tunes on several devices goes on with the others. Only Revoke and Interrupt may be called from
// other threads than the tuning one.
class DeviceLease final : public Runner {
 public:
  // The caller holds `device`, which the lease releases. `joins`: a search that runs already; then
  // SetProblem measures the device's peaks first, as others do before the search. `places`: where
  // it is noted what the device has measured; null: nowhere.
  explicit DeviceLease(TuningDevice& device, bool joins = false, TrialPlaces* places = nullptr)
      : device_(device), runner_(device.runner()), joins_(joins), places_(places) {}
  ~DeviceLease() override { GiveUp(); }

  TuningDevice& held() const { return device_; }
  void Revoke();
  bool is_revoked() const { return is_revoked_; }
  bool is_given_up() const ABSL_LOCKS_EXCLUDED(mutex_);
  // As TuningDevice::CheckHealth; OK if the lease was revoked.
  Status CheckHealth();

  const DeviceDescription& device() const override { return runner_.device(); }
  Status SetProblem(const ComputationView& computation, uint64_t seed,
                    const Numerics& numerics) override;
  Result<int64_t> LoopNestTime() override;
  void SetDeadline(int64_t deadline_ns) override;
  void SetStepListener(OnStep on_step) override;
  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions& options) override;
  Result<Finished> Next() override;
  Result<MachinePeaks> Peaks() override;
  Status Health() override;
  void Interrupt() override;

 private:
  // Errors: FailedPrecondition if the lease was revoked; then the device is released.
  Status CheckHeld();
  // The same after a call of the runner, whose result stands only if the lease still does.
  template <typename T>
  T IfHeld(T result) {
    MDH_RETURN_IF_ERROR(CheckHeld());
    return result;
  }
  // What was submitted with that number was measured here.
  void NotePlace(int64_t number);
  // Ends what was submitted and releases the device.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);

  TuningDevice& device_;
  Runner& runner_;
  const bool joins_;
  TrialPlaces* const places_;
  std::atomic<bool> is_revoked_ = false;
  mutable absl::Mutex mutex_;  // nobody interrupts what is another job's already
  bool is_given_up_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t submitted_ = 0;                   // and not handed out by Next
  std::map<int64_t, std::string> digests_;  // of these, if there are places
};

}  // namespace mdh

// A device of the daemon: its runner process, who uses it, and whether it answers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/device_description.h"
#include "core/status.h"
#include "mdh/v1/device.pb.h"
#include "server/kernel_key.h"
#include "tuner/measure/runner.h"

namespace mdh {

using StartRunner = std::function<Result<std::unique_ptr<Runner>>(const RunnerOptions&)>;

struct TuningDeviceOptions {
  std::string name;  // "devices/cuda0"
  std::string platform = "";
  std::string driver = "";
  RunnerOptions runner = {};
  StartRunner start = &Runner::Start;
};

// Thread-safe, but for what only its holder may call. Held by one at a time.
class TuningDevice {
 public:
  // A device that is described already. Its runner is started by the first CheckHealth.
  TuningDevice(TuningDeviceOptions options, DeviceDescription description);
  // Starts the runner at once and takes the description from it. If that fails, `description`
  // stands, and the device refuses to tune for good.
  static std::unique_ptr<TuningDevice> Start(TuningDeviceOptions options,
                                             DeviceDescription description);

  const std::string& name() const { return options_.name; }
  const std::string& platform() const { return options_.platform; }
  const std::string& driver() const { return options_.driver; }
  const DeviceDescription& description() const { return description_; }
  const KeyEnvironment& environment() const { return environment_; }
  const std::string& fingerprint() const { return environment_.device_fingerprint; }

  struct State {
    v1::DeviceHealth health = v1::DEVICE_HEALTH_STARTING;
    std::string reason;  // of being unhealthy
    bool is_held = false;
    std::string job;          // that holds it; empty: none, or no job
    std::string confinement;  // of the runner
  };
  State state() const ABSL_LOCKS_EXCLUDED(mutex_);
  // OK, or FailedPrecondition with the reason why this machine cannot tune for it. A device that
  // worked before and is unhealthy now can: jobs wait for it.
  Status CanTune() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether TryHold would take it.
  bool IsFree() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the device if it is healthy and nobody has it.
  bool TryHold(const std::string& job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the device to call CheckHealth if nobody has it and it is not healthy, but may become so.
  bool TryHoldForCheck() ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives it back, and calls the listener.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_);
  // Called by Release, from its thread; one at a time, before the device is used.
  void SetListener(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(mutex_);

  // For the holder: starts the runner if there is none, else asks it (Runner::Health), and notes
  // how the device is. Errors: FailedPrecondition if it is unhealthy, with the reason.
  Status CheckHealth() ABSL_LOCKS_EXCLUDED(mutex_);
  // For the holder of a healthy device.
  Runner& runner() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a running call of the runner return soon.
  void Interrupt() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  TuningDevice(TuningDeviceOptions options, DeviceDescription description,
               std::unique_ptr<Runner> runner);
  Status StartMyRunner() ABSL_LOCKS_EXCLUDED(mutex_);
  void SetHealth(const Status& health) ABSL_LOCKS_EXCLUDED(mutex_);

  const TuningDeviceOptions options_;
  const DeviceDescription description_;
  const KeyEnvironment environment_;
  mutable absl::Mutex mutex_;
  std::unique_ptr<Runner> runner_ ABSL_GUARDED_BY(mutex_);  // the pointer; set once
  State state_ ABSL_GUARDED_BY(mutex_);
  bool is_hopeless_ ABSL_GUARDED_BY(mutex_) = false;  // could not be started at once
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh

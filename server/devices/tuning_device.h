// A device of the daemon: its runner process, who uses it, and whether it answers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "mdh/v1/device.pb.h"
#include "server/records/kernel_key.h"
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
  // As its runner said last: compilers may be replaced while the daemon runs. What was said before
  // stays valid.
  const DeviceDescription& description() const { return now().description; }
  const KeyEnvironment& environment() const { return now().environment; }
  const std::string& fingerprint() const { return now().environment.device_fingerprint; }
  // Whether CheckHealth would find other compilers than environment() names.
  bool HasNewCompilers() const ABSL_LOCKS_EXCLUDED(mutex_);

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
  // Takes the device to call CheckHealth if nobody has it and it is not healthy, but may become so,
  // or has other compilers.
  bool TryHoldForCheck() ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives it back, and calls the listener.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_);
  // Called by Release, from its thread; one at a time, before the device is used.
  void SetListener(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(mutex_);

  // For the holder: starts the runner if there is none, else asks it (Runner::Health), and notes
  // how the device is, and which compilers it has. Errors: FailedPrecondition if it is unhealthy,
  // with the reason.
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

  struct Said {
    DeviceDescription description;
    KeyEnvironment environment;
  };
  const Said& now() const { return *now_.load(std::memory_order_acquire); }
  void Note(DeviceDescription description) ABSL_LOCKS_EXCLUDED(mutex_);
  // Errors: FailedPrecondition if it is another device.
  Status TakeDescription(const DeviceDescription& found) ABSL_LOCKS_EXCLUDED(mutex_);

  const TuningDeviceOptions options_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<const Said>> all_said_ ABSL_GUARDED_BY(mutex_);
  std::atomic<const Said*> now_ = nullptr;                  // the latest of them
  std::unique_ptr<Runner> runner_ ABSL_GUARDED_BY(mutex_);  // the pointer; set once
  State state_ ABSL_GUARDED_BY(mutex_);
  bool is_hopeless_ ABSL_GUARDED_BY(mutex_) = false;  // could not be started at once
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh

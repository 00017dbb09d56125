// Opening the daemon's devices while it serves lookups already: drivers and compilers may hang.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "server/daemon.h"
#include "server/devices/device_catalogue.h"
#include "server/devices/device_list.h"
#include "server/known_peaks.h"

namespace mdh {

// What the default device will be, but for its compiler, as far as that can be said at once.
// `wanted`: empty: all that there are.
std::optional<DeviceDescription> ExpectedDevice(const std::vector<WantedDevice>& wanted);

// One thread. Thread-safe.
class DeviceOpening {
 public:
  // What is done when the catalogue is open.
  using WhenOpen = std::function<void()>;

  // `options` and `catalogue` must outlive this.
  DeviceOpening(const DaemonOptions& options, std::vector<WantedDevice> wanted,
                DeviceCatalogue& catalogue)
      : options_(options), wanted_(std::move(wanted)), catalogue_(catalogue) {}
  ~DeviceOpening() { Stop(); }

  // Once: clears away what dead daemons have left, opens the devices, and calls `when_open`, all in
  // the thread. If that fails, the catalogue is given up, and the options' on_failure is called.
  // Errors: ResourceExhausted if there is no thread.
  Status Begin(WhenOpen when_open) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for its end. Errors: why there are no devices; `failure` says what they are about.
  Status Await(StartFailure& failure) ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on runners hurry, or are ended, whatever they do. Waits for the thread.
  void Stop();

 private:
  Status Open(const WhenOpen& when_open, StartFailure& failure);
  void ClearLeftovers() const;
  Result<std::vector<std::unique_ptr<TuningDevice>>> MakeWanted(const DeviceSearch& found,
                                                                const KnownPeaks& known) const;

  const DaemonOptions& options_;
  const std::vector<WantedDevice> wanted_;
  DeviceCatalogue& catalogue_;
  // Shared with the runners.
  const std::shared_ptr<std::atomic<bool>> is_stopping_ = std::make_shared<std::atomic<bool>>();
  std::thread thread_;
  absl::Mutex mutex_;
  std::optional<Status> end_ ABSL_GUARDED_BY(mutex_);
  StartFailure failure_ ABSL_GUARDED_BY(mutex_) = StartFailure::kInternal;
};

}  // namespace mdh

// Starts the devices' runners in the background, brings devices back that have become unhealthy,
// and notices that their compilers were replaced.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/devices/tuning_device.h"

namespace mdh {

struct DeviceKeeperOptions {
  // An unhealthy device is asked again after this, then after twice as long, and so on.
  absl::Duration first_retry = absl::Seconds(1);
  absl::Duration longest_retry = absl::Minutes(1);
  // Called, from another thread, when a device has other compilers than before. Empty: nobody is.
  std::function<void()> on_new_compilers = {};
};

// One thread per device, because one that hangs must not keep the others from coming back.
class DeviceKeeper {
 public:
  // The devices must outlive this.
  DeviceKeeper(absl::Span<const std::unique_ptr<TuningDevice>> devices,
               DeviceKeeperOptions options);
  ~DeviceKeeper();  // waits for checks that are being made

 private:
  void Keep(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);

  const DeviceKeeperOptions options_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mdh

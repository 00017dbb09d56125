#include "server/device_keeper.h"

#include <algorithm>

namespace mdh {

DeviceKeeper::DeviceKeeper(absl::Span<const std::unique_ptr<TuningDevice>> devices,
                           DeviceKeeperOptions options)
    : options_(options) {
  for (const std::unique_ptr<TuningDevice>& device : devices) {
    threads_.emplace_back([this, &device = *device] { Keep(device); });
  }
}

DeviceKeeper::~DeviceKeeper() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void DeviceKeeper::Keep(TuningDevice& device) {
  absl::Duration pause = options_.first_retry;
  while (true) {
    if (device.TryHoldForCheck()) {
      const bool is_healthy = device.CheckHealth().ok();
      device.Release();
      pause = is_healthy ? options_.first_retry : std::min(2 * pause, options_.longest_retry);
    }
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&is_stopping_), pause)) return;
  }
}

}  // namespace mdh

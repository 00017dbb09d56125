#include "server/devices/device_keeper.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

#include "core/base/start_thread.h"

namespace mdh {

DeviceKeeper::DeviceKeeper(absl::Span<const std::unique_ptr<TuningDevice>> devices,
                           DeviceKeeperOptions options)
    : options_(options) {
  for (const std::unique_ptr<TuningDevice>& device : devices) {
    Result<std::thread> thread = StartThread([this, &device = *device] { Keep(device); });
    if (thread.ok()) {
      threads_.push_back(*std::move(thread));
    } else {
      spdlog::error("device={} nobody looks after it: {}", device->name(),
                    std::string(thread.status().message()));
    }
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
      const KeyEnvironment& before = device.environment();
      const bool is_healthy = device.CheckHealth().ok();
      if (&device.environment() != &before && options_.on_new_compilers)
        options_.on_new_compilers();
      device.Release();
      pause = is_healthy ? options_.first_retry : std::min(2 * pause, options_.longest_retry);
    }
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&is_stopping_), pause)) return;
  }
}

}  // namespace mdh

// What the daemon does from time to time: forgets what its retention gives up, and renews its
// claims on jobs.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/admin_service.h"
#include "server/retention_clock.h"
#include "server/store.h"

namespace mdh {

struct HousekeeperOptions {
  std::string owner;  // of the jobs
  absl::Duration renew_claims = absl::Minutes(1);
  absl::Duration forget = absl::Hours(1);  // the first time at once
  std::function<absl::Time()> now = absl::Now;
};

// One thread.
class Housekeeper {
 public:
  // `store` must outlive this.
  Housekeeper(Store& store, AdminOptions admin, HousekeeperOptions options);
  ~Housekeeper();

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  void Forget(const Result<RetentionClock>& clock);

  Store& store_;
  const AdminOptions admin_;
  const HousekeeperOptions options_;
  bool has_warned_ = false;  // of the thread alone
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace mdh

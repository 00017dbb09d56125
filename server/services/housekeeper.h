// What the daemon does from time to time: forgets what its retention gives up, renews its leases of
// jobs, and looks after what cannot wait for these.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/services/admin_service.h"
#include "server/store/retention_clock.h"
#include "server/store/store.h"

namespace mdh {

struct HousekeeperOptions {
  absl::Duration renew = absl::Minutes(1);
  std::function<void()> renew_leases = [] {};  // of jobs, so often
  // Whose jobs they are: the leases are renewed at once when others want something of them.
  std::string owner = "";
  absl::Duration forget = absl::Hours(1);  // the first time at once, and that in any case
  std::function<absl::Time()> now = absl::Now;
  // Called so often, and when there are new jobs that nobody has; also while the store does not
  // answer the rest.
  absl::Duration look = absl::Seconds(1);
  std::vector<std::function<void()>> looks = {};
};

// Three threads: what is deleted after a long time, when there is much of it, takes longer than a
// lease lasts.
class Housekeeper {
 public:
  // `store` must outlive this. Errors: ResourceExhausted if there is no thread.
  static Result<std::unique_ptr<Housekeeper>> Start(Store& store, AdminOptions admin,
                                                    HousekeeperOptions options);
  ~Housekeeper();

 private:
  Housekeeper(Store& store, AdminOptions admin, HousekeeperOptions options);
  void KeepLeases() ABSL_LOCKS_EXCLUDED(mutex_);
  void KeepForgetting() ABSL_LOCKS_EXCLUDED(mutex_);
  void Forget();
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  // False if this is to end.
  bool Wait(absl::Duration time) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, but that it returns when that becomes true, and makes it false.
  bool WaitUnless(bool Housekeeper::*is_wanted, absl::Duration time) ABSL_LOCKS_EXCLUDED(mutex_);

  Store& store_;
  const AdminOptions admin_;
  const HousekeeperOptions options_;
  const Result<RetentionClock> clock_;
  bool has_warned_ = false;  // of the thread that forgets
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_wanted_ ABSL_GUARDED_BY(mutex_) = false;  // a renewal, now
  bool is_look_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread renewing_;
  std::thread forgetting_;
  std::thread looking_;
};

}  // namespace mdh

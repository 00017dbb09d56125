#include "server/services/housekeeper.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "core/base/start_thread.h"

namespace mdh {

Housekeeper::Housekeeper(Store& store, AdminOptions admin, HousekeeperOptions options)
    : store_(store),
      admin_(std::move(admin)),
      options_(std::move(options)),
      clock_(RetentionClock::Of(store_, admin_.keep_jobs)) {}

Result<std::unique_ptr<Housekeeper>> Housekeeper::Start(Store& store, AdminOptions admin,
                                                        HousekeeperOptions options) {
  std::unique_ptr<Housekeeper> keeper(new Housekeeper(store, std::move(admin), std::move(options)));
  MDH_ASSIGN_OR_RETURN(keeper->renewing_,
                       StartThread([keeper = keeper.get()] { keeper->KeepLeases(); }));
  MDH_ASSIGN_OR_RETURN(keeper->forgetting_,
                       StartThread([keeper = keeper.get()] { keeper->KeepForgetting(); }));
  MDH_ASSIGN_OR_RETURN(keeper->looking_, StartThread([keeper = keeper.get()] { keeper->Look(); }));
  store.SetOnWish(keeper->options_.owner, [keeper = keeper.get()] {
    absl::MutexLock lock(&keeper->mutex_);
    keeper->is_wanted_ = true;
  });
  store.SetOnNewJobs([keeper = keeper.get()] {
    absl::MutexLock lock(&keeper->mutex_);
    keeper->is_look_wanted_ = true;
  });
  return keeper;
}

Housekeeper::~Housekeeper() {
  store_.SetOnWish("", {});
  store_.SetOnNewJobs({});
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  for (std::thread* thread : {&renewing_, &forgetting_, &looking_}) {
    if (thread->joinable()) thread->join();
  }
}

bool Housekeeper::Wait(absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&is_stopping_), time);
}

bool Housekeeper::WaitUnless(bool Housekeeper::*is_wanted, absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  const auto goes_on = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_stopping_ || this->*is_wanted;
  };
  mutex_.AwaitWithTimeout(absl::Condition(&goes_on), time);
  this->*is_wanted = false;
  return !is_stopping_;
}

void Housekeeper::Look() {
  while (WaitUnless(&Housekeeper::is_look_wanted_, options_.look)) {
    for (const std::function<void()>& look : options_.looks) look();
  }
}

void Housekeeper::Forget() {
  if (!store_.CheckWritable().ok()) return;
  const absl::Time now = options_.now();
  Retention retention = RetentionOf(admin_, now);
  const Status believed = clock_.ok() ? clock_->Check(now) : clock_.status();
  if (!believed.ok()) {
    retention.jobs_ended_before = absl::InfinitePast();
    if (!std::exchange(has_warned_, true)) {
      spdlog::warn("retention: {}", std::string(believed.message()));
    }
  }
  const Result<v1::CollectGarbageResponse> forgotten = store_.Forget(retention);
  if (!forgotten.ok()) {
    spdlog::error("retention: {}", std::string(forgotten.status().message()));
  } else if (forgotten->jobs() + forgotten->records() > 0) {
    spdlog::info("retention: jobs={} trials={} records={}", forgotten->jobs(), forgotten->trials(),
                 forgotten->records());
  }
}

void Housekeeper::KeepForgetting() {
  do {
    Forget();
  } while (Wait(options_.forget));
}

void Housekeeper::KeepLeases() {
  do {
    options_.renew_leases();
  } while (WaitUnless(&Housekeeper::is_wanted_, options_.renew));
}

}  // namespace mdh

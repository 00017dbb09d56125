#include "server/services/housekeeper.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "core/base/start_thread.h"
#include "tuner/process/clock.h"

namespace mdh {

Housekeeper::Housekeeper(Store& store, AdminOptions admin, HousekeeperOptions options)
    : store_(store),
      admin_(std::move(admin)),
      options_(std::move(options)),
      clock_(RetentionClock::Of(store_, admin_.keep_jobs)) {}

Result<std::unique_ptr<Housekeeper>> Housekeeper::Start(Store& store, AdminOptions admin,
                                                        HousekeeperOptions options) {
  std::unique_ptr<Housekeeper> keeper(new Housekeeper(store, std::move(admin), std::move(options)));
  MDH_ASSIGN_OR_RETURN(keeper->thread_, StartThread([keeper = keeper.get()] { keeper->Work(); }));
  MDH_ASSIGN_OR_RETURN(keeper->looking_, StartThread([keeper = keeper.get()] { keeper->Look(); }));
  return keeper;
}

Housekeeper::~Housekeeper() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  for (std::thread* thread : {&thread_, &looking_}) {
    if (thread->joinable()) thread->join();
  }
}

bool Housekeeper::Wait(absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&is_stopping_), time);
}

void Housekeeper::Look() {
  while (Wait(options_.look)) {
    for (const std::function<void()>& look : options_.looks) look();
  }
}

void Housekeeper::Forget() {
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

void Housekeeper::Work() {
  int64_t next_forget_ns = 0;
  while (true) {
    if (NowNs() >= next_forget_ns) {
      next_forget_ns = NowNs() + absl::ToInt64Nanoseconds(options_.forget);
      Forget();
    }
    const absl::Time now = options_.now();
    const Status claimed =
        store_.ClaimJobs({options_.owner, now + 10 * options_.renew_claims}, now, {}).status();
    if (!claimed.ok()) spdlog::error("claims of jobs: {}", std::string(claimed.message()));
    if (!Wait(options_.renew_claims)) return;
  }
}

}  // namespace mdh

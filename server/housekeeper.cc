#include "server/housekeeper.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "tuner/measure/clock.h"

namespace mdh {

Housekeeper::Housekeeper(Store& store, AdminOptions admin, HousekeeperOptions options)
    : store_(store), admin_(std::move(admin)), options_(std::move(options)) {
  thread_ = std::thread([this] { Work(); });
  looking_ = std::thread([this] { Look(); });
}

Housekeeper::~Housekeeper() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  thread_.join();
  looking_.join();
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

void Housekeeper::Forget(const Result<RetentionClock>& clock) {
  const absl::Time now = options_.now();
  Retention retention = RetentionOf(admin_, now);
  if (!clock.ok() || !clock->CanBelieve(now)) {
    retention.jobs_ended_before = absl::InfinitePast();
    if (!std::exchange(has_warned_, true)) {
      spdlog::warn(
          "retention: by this machine's clock, {}, all jobs have ended longer ago than they are "
          "kept; none is deleted for its age until the next start: is the clock right?",
          absl::FormatTime(now));
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
  const Result<RetentionClock> clock = RetentionClock::Of(store_, admin_.keep_jobs);
  int64_t next_forget_ns = 0;
  while (true) {
    if (NowNs() >= next_forget_ns) {
      next_forget_ns = NowNs() + absl::ToInt64Nanoseconds(options_.forget);
      Forget(clock);
    }
    const absl::Time now = options_.now();
    const Status claimed =
        store_.ClaimJobs({options_.owner, now + 10 * options_.renew_claims}, now, {}).status();
    if (!claimed.ok()) spdlog::error("claims of jobs: {}", std::string(claimed.message()));
    if (!Wait(options_.renew_claims)) return;
  }
}

}  // namespace mdh

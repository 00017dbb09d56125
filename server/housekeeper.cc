#include "server/housekeeper.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/time/clock.h"

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

void Housekeeper::Work() {
  absl::Time next_forget = absl::InfinitePast();
  while (true) {
    const absl::Time now = absl::Now();
    if (now >= next_forget) {
      next_forget = now + options_.forget;
      const Result<v1::CollectGarbageResponse> forgotten = store_.Forget(RetentionOf(admin_, now));
      if (!forgotten.ok()) {
        spdlog::error("retention: {}", std::string(forgotten.status().message()));
      } else if (forgotten->jobs() + forgotten->records() > 0) {
        spdlog::info("retention: jobs={} trials={} records={}", forgotten->jobs(),
                     forgotten->trials(), forgotten->records());
      }
    }
    const Status claimed =
        store_.ClaimJobs({options_.owner, now + 10 * options_.renew_claims}, now, {}).status();
    if (!claimed.ok()) spdlog::error("claims of jobs: {}", std::string(claimed.message()));
    if (!Wait(options_.renew_claims)) return;
  }
}

}  // namespace mdh

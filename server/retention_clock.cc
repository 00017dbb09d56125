#include "server/retention_clock.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/job.h"

namespace mdh {

RetentionClock::RetentionClock(std::optional<absl::Time> stored, absl::Duration keep,
                               std::function<int64_t()> now_ns)
    : stored_(stored), keep_(keep), now_ns_(std::move(now_ns)), begin_ns_(now_ns_()) {}

Result<RetentionClock> RetentionClock::Of(Store& store, absl::Duration keep) {
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningJob> latest, store.ListJobs(0, 1, {}));
  if (latest.empty()) return RetentionClock(std::nullopt, keep);
  const v1::TuningJob& job = latest.front();
  return RetentionClock(std::max(FromProto(job.create_time()), FromProto(job.end_time())), keep);
}

bool RetentionClock::CanBelieve(absl::Time now) const {
  if (!stored_) return true;
  return now <= *stored_ + keep_ + absl::Nanoseconds(now_ns_() - begin_ns_);
}

}  // namespace mdh

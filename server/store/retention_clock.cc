#include "server/store/retention_clock.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/records/timestamp.h"

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

Status RetentionClock::Check(absl::Time now) const {
  if (!stored_ || now <= *stored_ + keep_ + absl::Nanoseconds(now_ns_() - begin_ns_)) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "by this machine's clock, ", absl::FormatTime(now),
      ", all jobs have ended longer ago than they are kept: is it right? None is deleted for its "
      "age until there is a newer job, and mdhd is started again");
}

}  // namespace mdh

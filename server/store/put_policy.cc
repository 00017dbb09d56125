#include "server/store/put_policy.h"

#include <algorithm>

#include "server/records/cache_state.h"

namespace mdh {

bool StaysBefore(const v1::TuningRecord& stored, const StoredResult& result) {
  const v1::TuningRecord& record = result.record;
  if (stored.is_pinned()) return true;
  if (stored.is_provisional() != record.is_provisional()) return record.is_provisional();
  if (IsCold(stored.cache_state()) != IsCold(record.cache_state())) return result.is_given;
  // Of two times only one of which others have disturbed, the other one is right.
  const bool is_doubtful = stored.is_disturbed() && !record.is_disturbed();
  return !is_doubtful && stored.time_ns() <= record.time_ns();
}

std::optional<v1::TuningRecord> WithEffortOf(const StoredResult& worse, v1::TuningRecord stored) {
  const v1::TuningRecord& record = worse.record;
  const bool is_of_key = !worse.is_given && !record.is_provisional() && !stored.is_provisional() &&
                         !stored.is_pinned() &&
                         IsCold(stored.cache_state()) == IsCold(record.cache_state());
  const bool is_more = record.total_search_time_ns() > stored.total_search_time_ns() ||
                       (record.is_exhausted() && !stored.is_exhausted());
  if (!is_of_key || !is_more) return std::nullopt;
  stored.set_total_search_time_ns(
      std::max(stored.total_search_time_ns(), record.total_search_time_ns()));
  stored.set_is_exhausted(stored.is_exhausted() || record.is_exhausted());
  if (record.trials() > stored.trials()) {
    stored.set_trials(record.trials());
    stored.set_failed_trials(record.failed_trials());
  }
  return stored;
}

}  // namespace mdh

#include "server/lookup/lookup_metrics.h"

namespace mdh {

void LookupMetrics::CountOutcome(absl::StatusCode outcome) {
  const size_t code = static_cast<size_t>(outcome);
  outcomes_[code < kCodes ? code : static_cast<size_t>(absl::StatusCode::kUnknown)].fetch_add(
      1, std::memory_order_relaxed);
}

void LookupMetrics::CountCall(absl::Duration latency) {
  const int64_t ns = absl::ToInt64Nanoseconds(latency);
  total_latency_ns_.fetch_add(ns, std::memory_order_relaxed);
  size_t bucket = 0;
  for (int64_t limit = kFirstBucketNs; bucket + 1 < kBuckets && ns > limit; limit *= 2) ++bucket;
  latencies_[bucket].fetch_add(1, std::memory_order_relaxed);
}

v1::LookupStatistics LookupMetrics::Read() const {
  v1::LookupStatistics statistics;
  const auto count = [&](absl::StatusCode code) {
    return outcomes_[static_cast<size_t>(code)].load(std::memory_order_relaxed);
  };
  statistics.set_found(count(absl::StatusCode::kOk));
  statistics.set_missed(count(absl::StatusCode::kNotFound));
  statistics.set_refused(count(absl::StatusCode::kPermissionDenied) +
                         count(absl::StatusCode::kUnauthenticated));
  statistics.set_overloaded(count(absl::StatusCode::kResourceExhausted));
  int64_t all = 0;
  for (const std::atomic<int64_t>& outcome : outcomes_) {
    all += outcome.load(std::memory_order_relaxed);
  }
  statistics.set_invalid(all - statistics.found() - statistics.missed() - statistics.refused() -
                         statistics.overloaded());
  int64_t limit = kFirstBucketNs;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket, limit *= 2) {
    v1::LatencyBucket& entry = *statistics.add_latencies();
    entry.set_at_most_ns(bucket + 1 < kBuckets ? limit : 0);
    entry.set_calls(latencies_[bucket].load(std::memory_order_relaxed));
  }
  return statistics;
}

}  // namespace mdh

// How many lookups there were, what became of them, and how long they took.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "mdh/v1/admin.pb.h"

namespace mdh {

// Thread-safe; counting costs some nanoseconds.
class LookupMetrics {
 public:
  // One lookup; of a batch, one of its requests.
  void CountOutcome(absl::StatusCode outcome);
  // One call, from when it was there until its reply was given to gRPC.
  void CountCall(absl::Duration latency);

  v1::LookupStatistics Read() const;
  // Of all calls together.
  absl::Duration TotalLatency() const {
    return absl::Nanoseconds(total_latency_ns_.load(std::memory_order_relaxed));
  }

 private:
  // Bucket n has the calls of at most 2^n * kFirstBucketNs, but for those of the buckets before;
  // the last one has the rest.
  static constexpr int64_t kFirstBucketNs = 1'000;
  static constexpr size_t kBuckets = 20;
  static constexpr size_t kCodes = 17;

  std::array<std::atomic<int64_t>, kCodes> outcomes_ = {};
  std::array<std::atomic<int64_t>, kBuckets> latencies_ = {};
  std::atomic<int64_t> total_latency_ns_ = 0;
};

}  // namespace mdh

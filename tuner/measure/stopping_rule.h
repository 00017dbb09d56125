// When a kernel was called often enough.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/measure/runner.h"

namespace mdh {

// Follows the timed calls of one kernel; MeasureOptions says what is enough.
class StoppingRule {
 public:
  explicit StoppingRule(const MeasureOptions& options) : options_(options) {}

  // A time for one call, and how long timing it took (several calls in a batch take longer).
  void Record(int64_t time_ns, int64_t total_ns);
  // `still_to_come`: calls that will be timed in any case.
  bool IsEnough(int still_to_come = 0) const;
  // Whether the kernel may be the best so far. Only of such a one the call that is checked once
  // more, at the end, is worth its time: what its first call computed is checked in any case.
  bool IsPromising() const;
  const std::vector<int64_t>& times_ns() const { return times_ns_; }

 private:
  bool IsPrecise() const;
  bool IsSlowerBy(double factor) const;  // than the best so far; even its fastest call

  MeasureOptions options_;
  std::vector<int64_t> times_ns_;
  int64_t total_ns_ = 0;
};

}  // namespace mdh

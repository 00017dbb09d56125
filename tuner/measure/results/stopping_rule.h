// When a kernel was called often enough.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/measure/results/measure_options.h"

namespace mdh {

// What the faster one of a kernel's first two calls tells when the best so far is known.
enum class Outlook {
  kOpen,      // it may be the best: time it well
  kHopeless,  // it takes more than slow_factor times the best one's time
  kUnknown,   // it seems so, but a call on its own takes longer than one of a batch
};
// `call_ns`: of one call on its own, up to kMostLaunchTime of which is not the kernel's; `batch`:
// calls that are timed together from then on, 1 if that makes no difference; a call that others
// disturbed must have taken more than they can explain.
inline constexpr double kMostLaunchTime = 20e3;  // nanoseconds
Outlook OutlookAfterFirstCalls(const MeasureOptions& options, double call_ns, int64_t batch,
                               bool was_disturbed = false);

// Follows the timed calls of one kernel; MeasureOptions says what is enough.
class StoppingRule {
 public:
  explicit StoppingRule(const MeasureOptions& options) : options_(options) {}

  // A time for one call, how long timing it took (several calls in a batch take longer), and
  // whether others disturbed it (DisturbanceWatch): then it counts only if no other call does.
  void Record(int64_t time_ns, int64_t total_ns, bool was_disturbed = false);
  // `still_to_come`: calls that will be timed in any case.
  bool IsEnough(int still_to_come = 0) const;
  // Whether the kernel may be the best so far. Only of such a one the call that is checked once
  // more, at the end, is worth its time: what its first call computed is checked in any case.
  bool IsPromising() const;
  // Of undisturbed calls, in order; of all calls if every one was disturbed.
  const std::vector<int64_t>& times_ns() const {
    return is_disturbed() ? disturbed_ns_ : times_ns_;
  }
  // Whether there is none but disturbed calls.
  bool is_disturbed() const { return times_ns_.empty() && !disturbed_ns_.empty(); }

 private:
  bool IsPrecise() const;
  // Than the best so far; even its fastest call. Disturbed calls do not tell it.
  bool IsSlowerBy(double factor) const;

  MeasureOptions options_;
  std::vector<int64_t> times_ns_;      // of undisturbed calls
  std::vector<int64_t> disturbed_ns_;  // of the others
  int64_t undisturbed_ns_ = 0;         // that timing the former took
  int64_t total_ns_ = 0;               // that timing all of them took
};

}  // namespace mdh

#include "tuner/measure/results/stopping_rule.h"

#include <algorithm>

#include "tuner/measure/results/measurement.h"

namespace mdh {
namespace {

// Other processes only ever make calls longer, so fastest calls compare kernels best. One that is
// this much slower than the best so far is not timed more precisely,
constexpr double kSlower = 1.05;
// and one that is this much slower has no chance to be taken for the best.
constexpr double kPromising = 1.1;
// A call that others disturb may take so many times as long as it does alone.
constexpr double kMostDisturbance = 10;

}  // namespace

Outlook OutlookAfterFirstCalls(const MeasureOptions& options, double call_ns, int64_t batch,
                               bool was_disturbed) {
  if (was_disturbed) call_ns /= kMostDisturbance;
  const double limit_ns = options.slow_factor * static_cast<double>(options.best_so_far_ns);
  if (options.best_so_far_ns <= 0 || call_ns <= limit_ns) return Outlook::kOpen;
  return batch > 1 && call_ns <= limit_ns + kMostLaunchTime ? Outlook::kUnknown
                                                            : Outlook::kHopeless;
}

void StoppingRule::Record(int64_t time_ns, int64_t total_ns, bool was_disturbed) {
  (was_disturbed ? disturbed_ns_ : times_ns_).push_back(time_ns);
  if (!was_disturbed) undisturbed_ns_ += total_ns;
  total_ns_ += total_ns;
}

bool StoppingRule::IsEnough(int still_to_come) const {
  const int undisturbed = static_cast<int>(times_ns_.size());
  const int timed = undisturbed + static_cast<int>(disturbed_ns_.size());
  if (timed >= options_.max_repeats) return true;
  if (timed + still_to_come < options_.min_repeats) return false;
  // Disturbed calls are made up for, as long as there is time.
  const int64_t most_ns = std::max(options_.max_time_ns, options_.target_time_ns);
  if (undisturbed < timed && total_ns_ >= most_ns) return true;
  if (undisturbed + still_to_come < options_.min_repeats) return false;
  if (IsSlowerBy(kSlower)) return true;
  if (undisturbed_ns_ < options_.target_time_ns) return false;
  if (options_.precision <= 0 || total_ns_ >= options_.max_time_ns) return true;
  return IsPrecise();
}

bool StoppingRule::IsPromising() const { return !IsSlowerBy(kPromising); }

bool StoppingRule::IsSlowerBy(double factor) const {
  if (options_.best_so_far_ns <= 0 || times_ns_.empty()) return false;
  const auto fastest = static_cast<double>(*std::ranges::min_element(times_ns_));
  return fastest > factor * static_cast<double>(options_.best_so_far_ns);
}

bool StoppingRule::IsPrecise() const {
  Measurement measurement;
  measurement.times_ns = times_ns_;
  const auto median = static_cast<double>(measurement.time_ns());
  const Measurement::Interval interval = measurement.interval();
  return static_cast<double>(interval.low_ns) >= median * (1 - options_.precision) &&
         static_cast<double>(interval.high_ns) <= median * (1 + options_.precision);
}

}  // namespace mdh

#include "tuner/measure/stopping_rule.h"

#include "tuner/measure/measurement.h"

namespace mdh {

void StoppingRule::Record(int64_t time_ns, int64_t total_ns) {
  times_ns_.push_back(time_ns);
  total_ns_ += total_ns;
}

bool StoppingRule::IsEnough(int still_to_come) const {
  const int timed = static_cast<int>(times_ns_.size());
  if (timed >= options_.max_repeats) return true;
  if (timed + still_to_come < options_.min_repeats || total_ns_ < options_.target_time_ns) {
    return false;
  }
  if (options_.precision <= 0 || total_ns_ >= options_.max_time_ns) return true;
  return IsPrecise();
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

#include "tuner/study/active_time.h"

#include <algorithm>

namespace mdh {

void ActiveTime::Add(int64_t begin_ns, int64_t end_ns) {
  if (end_ns <= begin_ns) return;
  while (!intervals_.empty() && intervals_.back().end_ns >= begin_ns) {
    const Interval last = intervals_.back();
    total_ns_ -= last.end_ns - last.begin_ns;
    begin_ns = std::min(begin_ns, last.begin_ns);
    end_ns = std::max(end_ns, last.end_ns);
    intervals_.pop_back();
  }
  intervals_.push_back({begin_ns, end_ns});
  total_ns_ += end_ns - begin_ns;
}

void ActiveTime::ForgetBefore(int64_t time_ns) {
  const auto first_kept = std::ranges::find_if(
      intervals_, [time_ns](const Interval& interval) { return interval.end_ns >= time_ns; });
  intervals_.erase(intervals_.begin(), first_kept);
}

}  // namespace mdh

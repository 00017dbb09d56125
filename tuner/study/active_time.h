// How long a study was worked on.
#pragma once

#include <cstdint>
#include <vector>

namespace mdh {

// The length of the union of the times from asking for a trial to telling its cost: what overlaps
// counts once, and times in which nothing was evaluated, or what was evaluated got lost, not at
// all. Not thread-safe.
class ActiveTime {
 public:
  // A trial was evaluated from `begin_ns` to `end_ns`. A clock that was put back gives nothing.
  void Add(int64_t begin_ns, int64_t end_ns);
  // Trials to come begin at `time_ns` or later. Only bounds what is remembered.
  void ForgetBefore(int64_t time_ns);
  int64_t total_ns() const { return total_ns_; }

 private:
  struct Interval {
    int64_t begin_ns;
    int64_t end_ns;
  };
  std::vector<Interval> intervals_;  // disjoint, in the order of time
  int64_t total_ns_ = 0;
};

}  // namespace mdh

// How a candidate is measured.
#pragma once

#include <cstdint>

namespace mdh {

// In which state of the caches calls are timed.
enum class CacheState : uint8_t {
  kWarm = 0,  // as the call before left them
  kCold = 1,  // none holds the call's inputs and outputs
};

struct MeasureOptions {
  int64_t compile_limit_ns = 30'000'000'000;
  int64_t run_limit_ns = 10'000'000'000;  // for one candidate, checks excluded
  int min_repeats = 3;
  // Repeat until this much was timed and the 99 % confidence interval of the median lies within
  // `precision` of it; at most max_repeats times, and not much longer than max_time_ns.
  int64_t target_time_ns = 30'000'000;
  int max_repeats = 200;
  double precision = 0.05;  // 0: target_time_ns alone decides
  int64_t max_time_ns = 300'000'000;
  CacheState cache = CacheState::kWarm;
  // The fastest call of the best kernel so far; 0: off. A candidate whose first call takes longer
  // than slow_factor * this is not repeated, and one whose fastest of min_repeats calls is still
  // slower than this (StoppingRule) no further; one that spills many registers, as its compiler
  // says, is not even called (SpillLimit).
  int64_t best_so_far_ns = 0;
  double slow_factor = 1.5;
  // May be compiled in one unit with others that wait, which takes less time each. Their code may
  // differ from that of a kernel that is compiled alone: not for figures that are to be kept.
  bool may_share_unit = false;

  friend bool operator==(const MeasureOptions&, const MeasureOptions&) = default;
};

}  // namespace mdh

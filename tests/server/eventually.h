// Waiting in tests of what other threads do.
#pragma once

#include <algorithm>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mdh {

// Longer than anything that a test waits for takes, on a machine that is busy, too.
constexpr absl::Duration kLongWait = absl::Seconds(30);

// Polls until `holds` gives true; false if it does not within kLongWait. The longer it takes, the
// less often: asking may start a program, and what is waited for needs the cores.
template <typename Condition>
bool Eventually(Condition holds) {
  const absl::Time begin = absl::Now();
  for (absl::Time now = begin; now < begin + kLongWait; now = absl::Now()) {
    if (holds()) return true;
    absl::SleepFor(std::clamp((now - begin) / 10, absl::Milliseconds(1), absl::Milliseconds(100)));
  }
  return false;
}

}  // namespace mdh

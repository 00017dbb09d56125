// Waiting in tests of what other threads do.
#pragma once

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mdh {

// Longer than anything that a test waits for takes, on a machine that is busy, too.
constexpr absl::Duration kLongWait = absl::Seconds(30);

// Polls until `holds` gives true; false if it does not within kLongWait.
template <typename Condition>
bool Eventually(Condition holds) {
  const absl::Time limit = absl::Now() + kLongWait;
  while (absl::Now() < limit) {
    if (holds()) return true;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return false;
}

}  // namespace mdh

// The time for intervals, by a clock that nobody sets.
#pragma once

#include "absl/time/time.h"
#include "tuner/process/clock.h"

namespace mdh {

// Goes on by a second each second, whatever becomes of the machine's clock; to be compared only
// with itself.
inline absl::Time SteadyTime() { return absl::UnixEpoch() + absl::Nanoseconds(NowNs()); }

}  // namespace mdh

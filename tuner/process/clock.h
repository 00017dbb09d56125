// The clock of every measurement.
#pragma once

#include <time.h>

#include <cstdint>

namespace mdh {

// Nanoseconds of CLOCK_MONOTONIC.
inline int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace mdh

// Random numbers that are the same on every platform, unlike the standard library's distributions.
#pragma once

#include <cstddef>

#include "tuner/space/search_space.h"

namespace mdh {

// Uniform in [0, 1).
inline double RandomUnit(Rng& rng) { return static_cast<double>(rng() >> 11) * 0x1.0p-53; }

// Uniform in [first, last).
inline double RandomBetween(Rng& rng, double first, double last) {
  return first + (last - first) * RandomUnit(rng);
}

// Uniform in 0..n-1, as good as: n is far below 2^53. Expects n > 0.
inline size_t RandomBelow(Rng& rng, size_t n) {
  return static_cast<size_t>(RandomUnit(rng) * static_cast<double>(n));
}

}  // namespace mdh

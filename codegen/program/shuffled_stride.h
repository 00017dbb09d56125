// Elements of memory so close to each other that vectors of them are loaded and stored with what is
// in between.
#pragma once

#include <cstdint>

namespace mdh {

// Whether shuffles bring the lanes of a vector from elements `stride` apart, or to them: over as
// many vectors as the stride is long. More than that are slower than element by element.
inline constexpr int64_t kFarthestShuffled = 4;
inline bool IsShuffledStride(int64_t stride, int64_t lanes) {
  const int64_t distance = stride < 0 ? -stride : stride;
  const bool is_whole = (lanes & (lanes - 1)) == 0;  // no lanes are off
  return is_whole && distance >= 1 && distance <= kFarthestShuffled && 2 * distance <= lanes;
}

}  // namespace mdh

// Work on large buffers, in pieces of a fixed size, with all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace mdh {

// Elements of one piece: what is done per piece does not depend on how many cores there are.
inline constexpr int64_t kRangeElements = int64_t{1} << 20;

// Calls work(piece, begin, end) for the pieces of [0, count), several at a time, in threads that
// end before this function does. Up to a piece, in the caller's thread. `elements`: of a piece.
void ForRanges(int64_t count, const std::function<void(int64_t, int64_t, int64_t)>& work,
               int64_t elements = kRangeElements);

inline int64_t CountRanges(int64_t count, int64_t elements = kRangeElements) {
  return (count + elements - 1) / elements;
}

}  // namespace mdh

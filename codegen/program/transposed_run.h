// Which elements neighbouring threads copy to shared memory where rows become columns.
#pragma once

#include <cstdint>

namespace mdh {

// Of a row of `row` elements, how many neighbouring threads take before they go on to the same ones
// of the next row; `rows`: of all of the copy. Usually all of them. As many as memory moves at
// least, a sector, where the row has several: threads of a warp then write to rows and columns of
// the copy that are in different banks, and read no more sectors. Not where threads would have to
// find the places of each of their elements anew.
inline int64_t TransposedRun(int64_t row, int64_t rows, int64_t element_bytes, int64_t threads) {
  constexpr int64_t kSectorBytes = 32;
  const int64_t run = kSectorBytes / element_bytes;
  if (run < 2 || row <= run || row % run != 0) return row;
  const int64_t items = run * rows;  // before the next run of the same row
  return threads % run == 0 && (items % threads == 0 || threads % items == 0) ? run : row;
}

}  // namespace mdh

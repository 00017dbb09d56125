#include "codegen/lower/finish/transpose_tile.h"

#include <utility>
#include <vector>

namespace mdh {

void TransposeTile(const TransposedTile& tile, NameAllocator& names, Block& block) {
  const int size = tile.type.lanes;
  std::vector<LoopValue> rows;
  for (int r = 0; r < size; ++r) {
    const Index at = tile.from_offset + Index(r * tile.from_stride);
    rows.push_back(NamedInBlock(MakeLoad(tile.from, at, tile.type, 1), names, block));
  }
  // With the rows as 2 x 2 blocks of `half` rows and lanes, the two off the diagonal are exchanged.
  for (int half = 1; half < size; half *= 2) {
    for (int r = 0; r < size; ++r) {
      if (r / half % 2 == 1) continue;
      const LoopValue upper = rows[r], lower = rows[r + half];
      for (const bool is_upper_half : {false, true}) {
        LoopValue row = MakeGroupHalves(upper, lower, 2 * half, 2 * half, is_upper_half);
        rows[is_upper_half ? r + half : r] = NamedInBlock(std::move(row), names, block);
      }
    }
  }
  for (int r = 0; r < size; ++r) {
    const Index at = tile.to_offset + Index(r * tile.to_stride);
    block.push_back({StoreElements{tile.to, at, rows[r], 1}});
  }
}

}  // namespace mdh

#include "codegen/choose/tiles/reached_share.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace mdh {

double ReachedShare::Of(const TileChoice& choice) const {
  if (!products_ || choice.accumulates_in_output || choice.packed[products_->zeros]) return 1;
  const Buffer& zeros = e_.inputs()[products_->zeros];
  double share = 1;
  for (size_t x = 0; x < zeros.extents.size(); ++x) {
    share *= Along(zeros.accesses[0].indices[x], zeros.extents[x], choice);
  }
  return share;
}

// Of one index of the buffer. Tiles at the end of a dimension are taken for whole ones; where there
// are many tiles, few are at an edge.
double ReachedShare::Along(const AffineIndex& index, int64_t extent,
                           const TileChoice& choice) const {
  constexpr int64_t kManyTiles = 4096;
  std::vector<int64_t> lowest = {index.constant};
  int64_t reach = 0;
  for (int d = 0; d < e_.rank(); ++d) {
    const int64_t c = index.coefficients[d], size = e_.dimensions()[d].size, tile = choice.tile[d];
    if (c == 0) continue;
    if (size / tile * std::ssize(lowest) > kManyTiles) return 1;
    reach += std::abs(c) * (tile - 1);
    std::vector<int64_t> next;
    for (int64_t at = 0; at < size; at += tile) {
      for (const int64_t low : lowest) next.push_back(low + c * at - (c < 0 ? -c * (tile - 1) : 0));
    }
    lowest = std::move(next);
  }
  const auto reached =
      std::ranges::count_if(lowest, [&](int64_t low) { return low + reach >= 0 && low < extent; });
  return static_cast<double>(reached) / static_cast<double>(lowest.size());
}

}  // namespace mdh

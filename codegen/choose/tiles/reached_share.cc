#include "codegen/choose/tiles/reached_share.h"

#include <algorithm>
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

// Of one index of the buffer. Where there are many tiles, few are at an edge.
double ReachedShare::Along(const AffineIndex& index, int64_t extent,
                           const TileChoice& choice) const {
  constexpr int64_t kManyTiles = 512;
  struct Reach {
    int64_t low, high, points;
  };
  std::vector<Reach> tiles = {{index.constant, index.constant, 1}};
  for (int d = 0; d < e_.rank(); ++d) {
    const int64_t c = index.coefficients[d], size = e_.dimensions()[d].size, tile = choice.tile[d];
    if (c == 0) continue;
    if (size / tile * std::ssize(tiles) > kManyTiles) return 1;
    std::vector<Reach> next;
    for (int64_t at = 0; at < size; at += tile) {
      const int64_t points = std::min(tile, size - at);
      const auto [low, high] = std::minmax({c * at, c * (at + points - 1)});
      for (const Reach& r : tiles) {
        next.push_back({r.low + low, r.high + high, r.points * points});
      }
    }
    tiles = std::move(next);
  }
  double reached = 0, all = 0;
  for (const Reach& r : tiles) {
    const auto points = static_cast<double>(r.points);
    all += points;
    if (r.high >= 0 && r.low < extent) reached += points;
  }
  return reached / all;
}

}  // namespace mdh

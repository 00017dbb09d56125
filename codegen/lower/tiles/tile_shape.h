// The points of a register tile: boxes of static offsets.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "codegen/lower/tiles/loop_plan.h"

namespace mdh {

// One point or vector of a tile: its piece in every dimension.
struct TilePoint {
  std::vector<TilePiece> pieces;
  int width() const;  // lanes
  int off() const;    // of these
};

// The points of a tile with points[d] points in dimension d: those of the reduced dimensions, or
// those of the others (pieces of the rest are at offset 0). The vector dimension varies fastest, so
// that loads of one row are next to each other.
std::vector<TilePoint> TileBox(const LoopPlan& plan, const std::vector<int64_t>& points,
                               bool reduced);

// Least and greatest value of an index where dimension d goes from first[d] to last[d].
struct IndexBounds {
  Index low, high;
};
IndexBounds BoundsOf(const AffineIndex& index, absl::Span<const Index> first,
                     absl::Span<const Index> last);

// `result` in the concatenated dimensions, `step` in the reduced ones.
TilePoint JoinPoints(const LoopPlan& plan, const TilePoint& result, const TilePoint& step);

}  // namespace mdh

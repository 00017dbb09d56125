#include "codegen/lower/tiles/tile_shape.h"

namespace mdh {

int TilePoint::width() const {
  int lanes = 1;
  for (const TilePiece& piece : pieces) lanes = std::max(lanes, piece.width);
  return lanes;
}

int TilePoint::off() const {
  int lanes = 0;
  for (const TilePiece& piece : pieces) lanes += piece.off;
  return lanes;
}

std::vector<TilePoint> TileBox(const LoopPlan& plan, const std::vector<int64_t>& points,
                               bool reduced) {
  std::vector<TilePoint> box(1);
  box[0].pieces.assign(plan.rank(), {0, 1});
  std::vector<int> dimensions;
  const int v = plan.vector_dimension();
  for (int d = 0; d < plan.rank(); ++d) {
    if (plan.is_reduction(d) == reduced && d != v) dimensions.push_back(d);
  }
  if (v >= 0 && plan.is_reduction(v) == reduced) dimensions.push_back(v);
  for (const int d : dimensions) {
    std::vector<TilePoint> next;
    for (const TilePoint& point : box) {
      for (const TilePiece& piece : plan.Pieces(d, points[d])) {
        next.push_back(point);
        next.back().pieces[d] = piece;
      }
    }
    box = std::move(next);
  }
  return box;
}

IndexBounds BoundsOf(const AffineIndex& index, absl::Span<const Index> first,
                     absl::Span<const Index> last) {
  IndexBounds bounds{Index(index.constant), Index(index.constant)};
  for (size_t d = 0; d < first.size(); ++d) {
    const int64_t c = index.coefficients[d];
    bounds.low = (c < 0 ? last[d] : first[d]) * c + bounds.low;
    bounds.high = (c < 0 ? first[d] : last[d]) * c + bounds.high;
  }
  return bounds;
}

TilePoint JoinPoints(const LoopPlan& plan, const TilePoint& result, const TilePoint& step) {
  TilePoint joined = result;
  for (int d = 0; d < plan.rank(); ++d) {
    if (plan.is_reduction(d)) joined.pieces[d] = step.pieces[d];
  }
  return joined;
}

}  // namespace mdh

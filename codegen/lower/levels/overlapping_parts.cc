#include "codegen/lower/levels/overlapping_parts.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace mdh {
namespace {

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kLeastOfOverlap = 4;  // overlapping points at most: one of so many

// The outermost level of the dimension with several parts; -1: there is none.
int OutermostCut(const NestShape& shape, int d) {
  int outermost = -1;
  for (int n = 0; n < shape.count(); ++n) {
    const NestShape::Level& level = shape.levels()[n];
    if (level.level.dimension != d || level.parts == 1) continue;
    if (outermost < 0 || level.tile > shape.levels()[outermost].tile) outermost = n;
  }
  return outermost;
}

// Whether accesses along the dimension whose first point is `last` are as well aligned as those
// whose first points are multiples of `tile`. Only neighbours are moved together: those of the
// points, and those of a row of the buffer, wherever else the points move.
bool KeepsAlignment(const Buffer& buffer, int d, int64_t tile, int64_t last) {
  const int64_t lanes = kVectorBytes / std::min<int64_t>(kVectorBytes, buffer.type.size_bytes());
  const std::vector<int64_t> strides = buffer.strides();
  for (size_t a = 0; a < buffer.accesses.size(); ++a) {
    if (!buffer.extents.empty()) {
      const int64_t step = buffer.accesses[a].indices.back().coefficients[d];
      int64_t in_row = std::gcd(lanes, step * tile);
      for (size_t x = 0; x + 1 < strides.size(); ++x) in_row = std::gcd(in_row, strides[x]);
      if (step * last % in_row != 0) return false;
    }
    const AffineIndex index = buffer.Linearized(static_cast<int>(a));
    if (std::abs(index.coefficients[d]) != 1) continue;
    int64_t together = std::gcd(lanes, tile);
    for (const int64_t pitch : index.coefficients) {
      if (std::abs(pitch) > 1) together = std::gcd(together, pitch);
    }
    if (last % together != 0) return false;
  }
  return true;
}

bool Overlaps(const NestShape& shape, int n) {
  const Expression& expression = shape.expression();
  const NestShape::Level& level = shape.levels()[n];
  const int d = level.level.dimension;
  const int64_t size = expression.dimensions()[d].size;
  const int64_t twice = level.parts * level.tile - size;
  if (!shape.is_core(n) || twice <= 0 || twice > size / kLeastOfOverlap) return false;
  const auto keeps = [&](const Buffer& buffer) {
    return KeepsAlignment(buffer, d, level.tile, size - level.tile);
  };
  return std::ranges::all_of(expression.inputs(), keeps) &&
         std::ranges::all_of(expression.outputs(), keeps) &&
         (expression.store() == nullptr || std::ranges::all_of(expression.store()->inputs, keeps));
}

}  // namespace

std::vector<int> OverlappingParts(const NestShape& shape) {
  const Expression& expression = shape.expression();
  std::vector<int> places;
  for (int d = 0; d < expression.rank(); ++d) {
    if (!expression.combine_operators()[d].is_concat()) continue;
    const int n = OutermostCut(shape, d);
    if (n >= 0 && Overlaps(shape, n)) places.push_back(n);
  }
  return places;
}

}  // namespace mdh

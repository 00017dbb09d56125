#include "core/decomposition/index_box.h"

#include <algorithm>

#include "core/decomposition/constraints.h"

namespace mdh {

IndexBox IndicesOf(const Buffer& buffer, const IndexBox& points) {
  IndexBox box{std::vector<int64_t>(buffer.extents.size(), INT64_MAX),
               std::vector<int64_t>(buffer.extents.size(), INT64_MIN)};
  for (const IndexFunction& access : buffer.accesses) {
    for (size_t x = 0; x < access.indices.size(); ++x) {
      int64_t low = access.indices[x].constant, high = low;
      for (size_t d = 0; d < points.first.size(); ++d) {
        const int64_t c = access.indices[x].coefficients[d];
        low += std::min(c * points.first[d], c * points.last[d]);
        high += std::max(c * points.first[d], c * points.last[d]);
      }
      box.first[x] = std::min(box.first[x], low);
      box.last[x] = std::max(box.last[x], high);
    }
  }
  return box;
}

int LoneDimension(const Expression& expression, const Buffer& buffer, int x) {
  const std::vector<int64_t>& all = buffer.accesses[0].indices[x].coefficients;
  const int plain = PlainDimension(buffer, x);
  if (plain >= 0 || buffer.accesses.size() > 1 || buffer.accesses[0].indices[x].constant != 0) {
    return plain;
  }
  int lone = -1;
  for (int d = 0; d < expression.rank(); ++d) {
    if (all[d] == 0 || expression.dimensions()[d].size == 1) continue;
    if (all[d] != 1 || lone >= 0) return -1;
    lone = d;
  }
  return lone;
}

int StripDimension(const Expression& expression, const Buffer& buffer, int x) {
  const int plain = LoneDimension(expression, buffer, x);
  if (plain >= 0 || buffer.accesses.size() > 1) return plain;
  const AffineIndex& index = buffer.accesses[0].indices[x];
  const auto along = std::ranges::find(index.coefficients, 1);
  if (index.constant != 0 || along == index.coefficients.end()) return -1;
  const auto d = static_cast<int>(along - index.coefficients.begin());
  const int64_t size = expression.dimensions()[d].size;
  const bool are_groups = std::ranges::all_of(index.coefficients, [&](const int64_t& c) {
    return &c == &*along || (c >= 0 && c % size == 0);
  });
  return are_groups && buffer.extents[x] % size == 0 ? d : -1;
}

}  // namespace mdh

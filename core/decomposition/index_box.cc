#include "core/decomposition/index_box.h"

#include <algorithm>

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

}  // namespace mdh

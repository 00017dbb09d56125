#include "core/expression/one_point.h"

#include <algorithm>
#include <utility>

namespace mdh {

Expression WithOnePoint(const Expression& expression) {
  ExpressionSpec spec = expression.spec();
  for (Dimension& dimension : spec.dimensions) dimension.size = 1;
  for (std::vector<Buffer>* buffers : BuffersOf(&spec)) {
    for (Buffer& buffer : *buffers) {
      for (int64_t& extent : buffer.extents) extent = std::max<int64_t>(extent, 1);
    }
  }
  return Expression::Unchecked(std::move(spec));
}

}  // namespace mdh

#include "core/expression/one_point.h"

#include <algorithm>
#include <utility>

namespace mdh {

Expression WithOnePoint(const Expression& expression) {
  ExpressionSpec spec = {.name = expression.name(),
                         .dimensions = expression.dimensions(),
                         .inputs = expression.inputs(),
                         .outputs = expression.outputs(),
                         .function = expression.function(),
                         .combine_operators = expression.combine_operators(),
                         .index_dimensions = expression.index_dimensions()};
  for (Dimension& dimension : spec.dimensions) dimension.size = 1;
  for (std::vector<Buffer>* buffers : {&spec.inputs, &spec.outputs}) {
    for (Buffer& buffer : *buffers) {
      for (int64_t& extent : buffer.extents) extent = std::max<int64_t>(extent, 1);
    }
  }
  return Expression::Unchecked(std::move(spec));
}

}  // namespace mdh

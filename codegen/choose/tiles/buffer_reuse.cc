#include "codegen/choose/tiles/buffer_reuse.h"

#include <algorithm>
#include <cstdint>

namespace mdh {

double BytesUsed(const Expression& expression, const Buffer& buffer) {
  double elements = static_cast<double>(buffer.accesses.size());
  for (int d = 0; d < expression.rank(); ++d) {
    if (buffer.DependsOn(d)) elements *= static_cast<double>(expression.dimensions()[d].size);
  }
  return std::min(elements * buffer.type.size_bytes(), static_cast<double>(buffer.size_bytes()));
}

double ReuseOf(const Expression& expression, const Buffer& buffer) {
  double points = 1;
  for (const Dimension& dimension : expression.dimensions()) {
    points *= static_cast<double>(dimension.size);
  }
  return points * static_cast<double>(buffer.accesses.size()) /
         static_cast<double>(buffer.elements());
}

bool ReadsWindowsOnce(const Expression& expression, const Buffer& buffer) {
  constexpr double kMostReuse = 1.5;
  const auto is_of_window = [&](const AffineIndex& index) {
    int kept = 0, reduced = 0;
    for (int d = 0; d < expression.rank(); ++d) {
      if (index.coefficients[d] != 0) ++(expression.is_reduction(d) ? reduced : kept);
    }
    return kept > 0 && reduced > 0;
  };
  return buffer.accesses.size() == 1 && ReuseOf(expression, buffer) <= kMostReuse &&
         std::ranges::any_of(buffer.accesses[0].indices, is_of_window);
}

}  // namespace mdh

// Affine index functions.
#include "core/expression/index_function.h"

namespace mdh {

int64_t AffineIndex::Evaluate(absl::Span<const int64_t> mda_index) const {
  int64_t value = constant;
  for (size_t d = 0; d < coefficients.size(); ++d) value += coefficients[d] * mda_index[d];
  return value;
}

}  // namespace mdh

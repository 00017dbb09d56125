// Affine index functions (paper, Definition 6): MDA indices -> buffer indices.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace mdh {

// sum_d coefficients[d] * i_d + constant.
struct AffineIndex {
  std::vector<int64_t> coefficients;  // one per MDA dimension
  int64_t constant = 0;

  int64_t Evaluate(absl::Span<const int64_t> mda_index) const;

  friend bool operator==(const AffineIndex&, const AffineIndex&) = default;
};

// One AffineIndex per buffer dimension; none for 0-dimensional buffers (scalars, appendix B.7).
struct IndexFunction {
  std::vector<AffineIndex> indices;

  friend bool operator==(const IndexFunction&, const IndexFunction&) = default;
};

}  // namespace mdh

// How many different elements of an input neighbouring points of a thread read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/expression/expression.h"

namespace mdh {

// Of a buffer that is read at several constant offsets, as stencils do: points have elements in
// common, and what they touch is no box. Counted once for boxes of a few points, by powers of two
// along each of at most three dimensions; for all others nothing is known.
class FragmentTable {
 public:
  FragmentTable() = default;
  explicit FragmentTable(const Buffer& buffer);

  // `points`: per MDA dimension.
  std::optional<double> Elements(absl::Span<const int64_t> points) const;

 private:
  absl::InlinedVector<int, 4> dimensions_;  // that move in the buffer
  std::vector<int> elements_;               // by the logarithms of points; 0: not known
};

}  // namespace mdh

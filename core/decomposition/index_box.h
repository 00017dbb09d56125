// Low-level BUFs (paper, Definition 13): a part of a buffer with a layout of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "core/expression/expression.h"

namespace mdh {

// First and last index (both included) of every dimension of an MDA or a buffer.
struct IndexBox {
  std::vector<int64_t> first, last;
};

// The buffer's indices that the accesses read at the points of a box.
IndexBox IndicesOf(const Buffer& buffer, const IndexBox& points);

}  // namespace mdh

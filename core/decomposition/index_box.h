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

// The MDA dimension that an index of a buffer is, beside those of one point, as in the K * g + k of
// convolutions of one channel a group; -1: none.
int LoneDimension(const Expression& expression, const Buffer& buffer, int x);

// The MDA dimension that copies can have strips along at buffer dimension x: the one that it is, or
// k of K * g + k, if k has K points: groups of neighbours, each of which is a strip. -1: none.
int StripDimension(const Expression& expression, const Buffer& buffer, int x);

}  // namespace mdh

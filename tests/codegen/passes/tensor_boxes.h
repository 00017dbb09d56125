// Boxes of tensor maps, element by element, by what the map says alone: what a tensor copy engine
// does (DeclareTensorMap, TensorCopy of codegen/program/unit_statements.h).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "codegen/program/unit_statements.h"

namespace mdh {

// Whether cuTensorMapEncodeTiled takes the map, with a swizzle of 128 bytes.
inline void ExpectEncodable(const DeclareTensorMap& map) {
  const int64_t bytes = SizeBytes(map.type);
  EXPECT_EQ(map.offset * bytes % 16, 0) << map.name << " begins at no multiple of 16 bytes";
  EXPECT_TRUE(!map.box.empty() && map.box.size() <= 5) << map.box.size() << " dimensions";
  EXPECT_TRUE(map.extents.size() == map.box.size() && map.strides.size() == map.box.size());
  EXPECT_EQ(map.strides[0], 1);
  EXPECT_EQ(map.box[0] * bytes, kOperandRowBytes);
  for (size_t d = 0; d < map.box.size(); ++d) {
    EXPECT_TRUE(map.extents[d] >= 1 && map.extents[d] <= int64_t{1} << 32) << map.extents[d];
    EXPECT_TRUE(map.box[d] >= 1 && map.box[d] <= 256) << map.box[d];
    EXPECT_TRUE(d == 0 || (map.strides[d] > 0 && map.strides[d] * bytes % 16 == 0))
        << map.strides[d];
  }
}

// For each point of the box that begins at point `first` and goes to element `to` of shared memory:
// the element of the map's base that is there, nullopt outside of the array, and where it goes.
inline void ForBox(const DeclareTensorMap& map, const std::vector<int64_t>& first, int64_t to,
                   const std::function<void(std::optional<int64_t> from, int64_t to)>& each) {
  const int64_t bytes = SizeBytes(map.type);
  ASSERT_EQ(first.size(), map.box.size());
  ASSERT_EQ(to * bytes % kOperandAlignment, 0) << "rows of " << map.name << " are not aligned";
  int64_t points = 1;
  for (const int64_t along : map.box) points *= along;
  for (int64_t n = 0; n < points; ++n) {
    int64_t rest = n, from = map.offset;
    bool exists = true;
    for (size_t d = 0; d < map.box.size(); ++d) {
      const int64_t at = first[d] + rest % map.box[d];
      rest /= map.box[d];
      exists = exists && at >= 0 && at < map.extents[d];
      from += at * map.strides[d];
    }
    const int64_t place = (to + n) * bytes;
    each(exists ? std::optional(from) : std::nullopt, (place ^ (place / 128 % 8 * 16)) / bytes);
  }
}

}  // namespace mdh

// The values of an affine index on the MDA as arithmetic progressions, and unions of their
// products.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/round.h"
#include "core/expression/expression.h"

namespace mdh {

// The sum of two counts; the largest number if it does not fit.
constexpr int64_t AddOrLargest(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// A number of things: lower <= the number <= upper. Saturates at the largest int64.
struct CountBounds {
  int64_t lower = 0;
  int64_t upper = 0;

  bool is_exact() const { return lower == upper; }
  friend bool operator==(const CountBounds&, const CountBounds&) = default;
};

inline CountBounds operator+(CountBounds a, CountBounds b) {
  return {AddOrLargest(a.lower, b.lower), AddOrLargest(a.upper, b.upper)};
}

inline CountBounds operator*(CountBounds a, CountBounds b) {
  return {MultiplyOrLargest(a.lower, b.lower), MultiplyOrLargest(a.upper, b.upper)};
}

// first, first + stride, ...: `count` values. The stride of fewer than two is 1.
struct Progression {
  int64_t first = 0;
  int64_t stride = 1;
  int64_t count = 1;

  int64_t last() const { return first + (count - 1) * stride; }
  friend auto operator<=>(const Progression&, const Progression&) = default;
};

// first, ..., last; empty if last < first.
Progression Interval(int64_t first, int64_t last);

// The different values of an index.
struct IndexValues {
  CountBounds count;
  Progression inner;  // all of these are among them
  Progression hull;   // and all of them are among these
};

// Of the index on the whole MDA. Exact (inner == hull) where the terms fit together without gaps:
// 2 * i + r for two or more values of r; the count is also exact for nested blocks, 4 * i + r for
// three values of r, and for any two terms.
IndexValues ValuesOf(const AffineIndex& index, const std::vector<Dimension>& dimensions);

// Those elements of [0, extent) that such an index reads in a buffer with that boundary.
IndexValues AtBoundary(const IndexValues& all, int64_t extent, Boundary::Kind boundary);

// One progression per index of a buffer: all combinations of their values.
using ProgressionBox = std::vector<Progression>;

// Combinations in any of the boxes, all with as many indices; nullopt if counting them takes too
// long.
std::optional<int64_t> SizeOfUnion(std::vector<ProgressionBox> boxes);

}  // namespace mdh

// Range analysis: what is known of index arithmetic from the ranges of its variables.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "codegen/program/index.h"

namespace mdh {

// All integers from `low` to `high`, both included.
struct IndexRange {
  int64_t low;
  int64_t high;

  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// Variables that are not in the map can be anything.
using IndexRanges = std::map<std::string, IndexRange>;

// A range that contains all values of `index`; nullopt if none is known. Exact for sums in which
// every variable occurs once.
std::optional<IndexRange> RangeOf(const Index& index, const IndexRanges& ranges);

// The same values with fewer operations: quotients, remainders and minima that the ranges decide
// are gone. Parts that stay are written as before.
Index Simplified(const Index& index, const IndexRanges& ranges);

// What decides whether `index` is less than `bound`: the index without terms that add up to less
// than a divisor of both the bound and all other terms. So i * 4 + j < 1000 is i * 4 < 1000 if j is
// one of 0 to 3.
Index WithoutRest(const Index& index, int64_t bound, const IndexRanges& ranges);

}  // namespace mdh

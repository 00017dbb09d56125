// Which point of a step has written the element that another step reads.
#pragma once

#include <optional>
#include <vector>

#include "core/expression/expression.h"

namespace mdh {

// Smallest and largest value of an index on the points of these dimensions; nullopt if it does not
// fit in 63 bits.
struct ReadRange {
  int64_t smallest, largest;
};
std::optional<ReadRange> RangeOf(const AffineIndex& index,
                                 const std::vector<Dimension>& dimensions);

// outer(inner(...)): `inner` has one index per dimension of `outer`. nullopt if a number does not
// fit in 63 bits.
std::optional<AffineIndex> Composed(const AffineIndex& outer, const std::vector<AffineIndex>& inner,
                                    size_t rank);
std::optional<IndexFunction> Composed(const IndexFunction& outer,
                                      const std::vector<AffineIndex>& inner, size_t rank);

// For the indices at which a consumer with dimensions `to` reads a buffer: the producer's indices
// of the point that writes there, one per dimension of `from`. `only_inside`: where a read
// index leaves the extents there need not be such a point. nullopt if the
// access cannot be inverted, or where the consumer may read what it does not write.
std::optional<std::vector<AffineIndex>> InversePoint(
    const IndexFunction& written, const std::vector<Dimension>& from, const IndexFunction& read,
    const std::vector<Dimension>& to, const std::vector<int64_t>& extents, bool only_inside);

}  // namespace mdh

// A diagram's edges once more, for indices of small spaces: every node in one piece, so that a way
// through the diagram touches few cache lines, and levels without a choice left out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace mdh {

struct DiagramLevel;

// Immutable, thread-safe.
class CompactIndex {
 public:
  // nullopt for spaces with 2^32 configurations or more, with ranges of more than 2^16 values, or
  // with so many edges that caches do not hold them anyway.
  static std::optional<CompactIndex> Create(const std::vector<DiagramLevel>& levels);

  // Expects an index of the space. One position for each level.
  void At(uint64_t index, absl::Span<uint32_t> positions) const;
  // nullopt if the space does not have them.
  std::optional<uint64_t> IndexOf(absl::Span<const uint32_t> positions) const;

  int64_t bytes() const { return static_cast<int64_t>(words_.capacity() * sizeof(uint32_t)); }

 private:
  CompactIndex() = default;

  // A node is its number of edges, its number of configurations, then for each edge the
  // configurations of the node before it, then for each its first and last position, 16 bits each,
  // then for each the place of its child. Positions increase from edge to edge.
  std::vector<uint32_t> words_;
  uint32_t root_ = 0;
  std::vector<int> levels_;        // that have a choice
  std::vector<int> fixed_levels_;  // the others
  std::vector<uint32_t> fixed_;    // their positions, by level
};

}  // namespace mdh

// The counted decision diagram of a search space (search_space.h), in terms of levels and
// positions.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tuner/space/diagram/compact_index.h"
#include "tuner/space/diagram/domains.h"
#include "tuner/space/levels/expansion.h"

namespace mdh {

// Nodes of a level: node n has edges begin[n]..begin[n + 1]-1, in the order of positions.
struct GraphLevel {
  std::vector<uint32_t> begin = {0};
  std::vector<RawEdge> edges;

  uint32_t nodes() const { return static_cast<uint32_t>(begin.size()) - 1; }
};

// Level 0 has one node, the root; edges of the last level lead to node 0, the end. Nodes without
// edges have no completion.
using LevelGraph = std::vector<GraphLevel>;

// The edges of a level. Numbers of configurations are 64 bits, or `limbs` words of 64 bits each.
struct DiagramLevel {
  std::vector<uint32_t> begin;  // by node, and one more
  std::vector<uint32_t> first;  // by edge: positions first..last lead to child
  std::vector<uint32_t> last;
  std::vector<uint32_t> child;
  std::vector<uint64_t> before;  // by edge: configurations of the node before the edge
  std::vector<uint64_t> count;   // by node
  int limbs = 1;

  uint32_t nodes() const { return static_cast<uint32_t>(count.size() / limbs); }
};

// Immutable, thread-safe. Has at least one configuration.
class Diagram {
 public:
  // Drops what has no completion, merges equal nodes, counts. nullopt if nothing is left.
  static std::optional<Diagram> Build(const LevelGraph& graph);

  const std::vector<DiagramLevel>& levels() const { return levels_; }
  int depth() const { return static_cast<int>(levels_.size()); }
  const mpz_class& count() const { return count_; }
  // Whether all counts fit 64 bits; then also count64().
  bool is_small() const { return is_small_; }
  uint64_t count64() const { return count64_; }
  int64_t nodes() const;
  int64_t edges() const;
  int64_t bytes() const;

  // positions.size() == depth().
  void At(uint64_t index, absl::Span<uint32_t> positions) const;
  void At(const mpz_class& index, absl::Span<uint32_t> positions) const;
  std::optional<uint64_t> IndexOf64(absl::Span<const uint32_t> positions) const;
  std::optional<mpz_class> IndexOf(absl::Span<const uint32_t> positions) const;
  bool Contains(absl::Span<const uint32_t> positions) const;

  // The edge of a node at a level that has that position; -1 if there is none.
  int64_t EdgeAt(int level, uint32_t node, uint32_t position) const;

  // Number of configurations below a node; level depth() is the end.
  mpz_class CountOf(int level, uint32_t node) const;
  mpz_class CountBefore(int level, uint32_t edge) const;

  // The same edges, less those positions that are not in the domains.
  LevelGraph Restricted(const Domains& domains) const;

 private:
  std::vector<DiagramLevel> levels_;
  mpz_class count_;
  bool is_small_ = false;
  uint64_t count64_ = 0;
  std::optional<CompactIndex> compact_;  // of few configurations
};

}  // namespace mdh

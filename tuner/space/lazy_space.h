// Search spaces whose diagram is larger than the memory bound: nodes are expanded when they are
// needed, and kept in a bounded cache. Which prefixes have completions is found by trying.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "tuner/space/levels/expansion.h"
#include "tuner/space/levels/level_plan.h"

namespace mdh {

// Thread-safe. Positions are by level.
class LazySpace {
 public:
  // `first`: a configuration, if one is known; else FindFirst is to be called before all others.
  LazySpace(SpacePlan plan, int64_t max_bytes, std::vector<uint32_t> first = {});

  const SpacePlan& plan() const { return plan_; }
  int64_t max_bytes() const { return max_bytes_; }
  int64_t cached_nodes() const;
  int64_t cached_edges() const;
  int64_t cached_bytes() const;

  // A configuration that was found when searching in order, empty if the search was given up or
  // there is none; then `is_empty` tells which.
  bool FindFirst(bool& is_empty);
  const std::vector<uint32_t>& first() const { return first_; }

  // Positions are drawn by level among those that constraints do not rule out yet.
  std::vector<uint32_t> Sample(std::mt19937_64& rng) const;
  // The proportion of the positions at each level.
  std::vector<uint32_t> AtCoordinates(absl::Span<const double> coordinates) const;
  std::vector<double> CoordinatesOf(absl::Span<const uint32_t> positions) const;
  // Level by level the closest position that has a completion.
  std::vector<uint32_t> Nearest(absl::Span<const uint32_t> wanted) const;
  // In the order of positions, while `visit` returns true.
  void Enumerate(const std::function<bool(absl::Span<const uint32_t>)>& visit) const;
  // Positions of one level that can replace that of a configuration.
  std::vector<PositionRun> Alternatives(absl::Span<const uint32_t> positions, int level) const;
  bool Contains(absl::Span<const uint32_t> positions) const;

 private:
  struct Node;
  class Descent;
  using NodePointer = std::shared_ptr<const Node>;
  using State = std::vector<uint64_t>;  // with the number of the level in front

  NodePointer NodeOf(const State& state) const;
  void MarkDead(const State& state) const;

  SpacePlan plan_;
  int64_t max_bytes_;
  std::vector<uint32_t> first_;  // configuration

  mutable std::mutex mutex_;
  // All below are guarded by mutex_.
  mutable Expander expander_;
  mutable absl::flat_hash_map<State, NodePointer> nodes_;
  mutable int64_t bytes_ = 0;
  mutable int64_t edges_ = 0;
};

}  // namespace mdh

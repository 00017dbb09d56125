// Nodes of one level of a diagram, each set of edges once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tuner/space/levels/expansion.h"
#include "tuner/space/levels/wide_integer.h"

namespace mdh {

class UniqueNodes {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  explicit UniqueNodes(uint32_t expected = 0) {
    size_t size = 16;
    while (size < size_t{expected} * 2) size *= 2;
    places_.assign(size, kNone);
  }

  // Adds an edge to the open node, the one behind the last closed one. Positions increase.
  void Add(RawEdge edge) {
    if (is_open()) {
      RawEdge& before = edges_.back();
      if (before.child == edge.child && before.last + 1 == edge.first) {
        before.last = edge.last;
        return;
      }
    }
    edges_.push_back(edge);
  }
  // Whether the open node has edges.
  bool is_open() const { return edges_.size() > begin_.back(); }

  // Ends the open node, and forgets it if there is an equal one: the number of the one that stays.
  uint32_t Close() {
    const uint64_t hash = HashOf(begin_.back(), edges_.size());
    const size_t mask = places_.size() - 1;
    size_t place = (hash >> 20) & mask;
    for (; places_[place] != kNone; place = (place + 1) & mask) {
      if (!IsOpenNode(places_[place])) continue;
      edges_.resize(begin_.back());
      return places_[place];
    }
    const auto node = static_cast<uint32_t>(begin_.size() - 1);
    places_[place] = node;
    begin_.push_back(static_cast<uint32_t>(edges_.size()));
    if (begin_.size() * 2 > places_.size()) Grow();
    return node;
  }

  // As GraphLevel has them.
  std::vector<uint32_t>& begin() { return begin_; }
  std::vector<RawEdge>& edges() { return edges_; }

 private:
  // Of edges first..end-1.
  uint64_t HashOf(size_t first, size_t end) const {
    // No sum that positions are, or the product below would forget the child.
    uint64_t hash = 0x2545f4914f6cdd1du + (end - first);
    for (size_t edge = first; edge < end; ++edge) {
      const uint64_t positions =
          static_cast<uint64_t>(edges_[edge].first) << 32 | edges_[edge].last;
      const Wide product =
          static_cast<Wide>(hash ^ positions) * (0xd6e8feb86659fd93u ^ edges_[edge].child);
      hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }
    return hash * 0x9e3779b97f4a7c15u;
  }

  bool IsOpenNode(uint32_t node) const {
    const size_t size = edges_.size() - begin_.back();
    if (begin_[node + 1] - begin_[node] != size) return false;
    return std::equal(edges_.begin() + begin_.back(), edges_.end(), edges_.begin() + begin_[node],
                      [](const RawEdge& a, const RawEdge& b) {
                        return a.first == b.first && a.last == b.last && a.child == b.child;
                      });
  }

  void Grow() {
    places_.assign(places_.size() * 2, kNone);
    const size_t mask = places_.size() - 1;
    for (size_t node = 0; node + 1 < begin_.size(); ++node) {
      size_t place = (HashOf(begin_[node], begin_[node + 1]) >> 20) & mask;
      while (places_[place] != kNone) place = (place + 1) & mask;
      places_[place] = static_cast<uint32_t>(node);
    }
  }

  std::vector<uint32_t> begin_ = {0};
  std::vector<RawEdge> edges_;
  std::vector<uint32_t> places_;
};

}  // namespace mdh

// A counted space as a tree: a node is what the parameters of the first levels are.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tuner/space/search_space.h"

namespace mdh {

// Immutable, cheap to copy, thread-safe. Every node has a configuration below it. Expects a space
// that is not lazy.
class SpaceTree {
 public:
  explicit SpaceTree(SearchSpace space) : space_(std::move(space)) {}

  // Of all prefixes that leave the same, one node of the diagram.
  struct Node {
    int level = 0;      // so many are decided
    uint32_t node = 0;  // of the diagram
  };
  struct Child {
    int64_t code;  // of ParameterOf(parent.level)
    Node node;
  };

  int depth() const { return static_cast<int>(space_.parameters().size()); }
  // The parameter that a node of that level decides next.
  int ParameterOf(int level) const;
  // Those that have configurations, in the order of their positions. Expects level < depth().
  std::vector<Child> ChildrenOf(const Node& node) const;
  // Configurations below a node.
  Count CountOf(const Node& node) const;

 private:
  SearchSpace space_;
};

}  // namespace mdh

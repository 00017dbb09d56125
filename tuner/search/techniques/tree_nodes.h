// Nodes of the tree of a space (tuner/space/space_tree.h) with bounds, as techniques that branch
// keep them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tuner/search/techniques/search_technique.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/space_tree.h"

namespace mdh {

// The path to a node: what it decides, and the node that decides the others.
struct TreePath {
  int64_t code;
  std::shared_ptr<const TreePath> parent;
};

struct TreeNode {
  SpaceTree::Node at;
  std::shared_ptr<const TreePath> path;
  double bound = 0;
};

// Bounds of nodes: of what they decide, with all values of the other parameters. Not thread-safe.
class TreeBounds {
 public:
  // `bound` may be nullptr: then all bounds are 0. Expects a space that is not lazy.
  TreeBounds(const SearchSpace& space, std::shared_ptr<const CostBound> bound);

  const SpaceTree& tree() const { return tree_; }
  TreeNode Root() const;
  bool IsLeaf(const TreeNode& node) const { return node.at.level == tree_.depth(); }
  // Bounds are never below that of the node.
  std::vector<TreeNode> ChildrenOf(const TreeNode& node);
  Configuration ConfigurationOf(const TreeNode& leaf) const;

 private:
  SpaceTree tree_;
  std::shared_ptr<const CostBound> bound_;
  std::vector<std::vector<int64_t>> codes_;  // all, by parameter
};

// What a technique that branches knows of costs: what cannot be better by more than the gap is
// worth no trial.
class TreeCut {
 public:
  explicit TreeCut(const SearchBound& bound);
  void Know(Cost cost);
  bool Cuts(double bound) const { return is_on_ && bound >= threshold_; }
  double threshold() const { return threshold_; }

 private:
  bool is_on_;
  double gap_;
  double threshold_;
};

}  // namespace mdh

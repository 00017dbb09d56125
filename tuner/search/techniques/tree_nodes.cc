#include "tuner/search/techniques/tree_nodes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace mdh {
TreeBounds::TreeBounds(const SearchSpace& space, std::shared_ptr<const CostBound> bound)
    : tree_(space), bound_(std::move(bound)) {
  if (bound_ != nullptr) codes_ = AllCodes(space);
}

TreeNode TreeBounds::Root() const {
  TreeNode root;
  if (bound_ == nullptr) return root;
  root.bound = bound_->Of(SpansOf(codes_));
  return root;
}

std::vector<TreeNode> TreeBounds::ChildrenOf(const TreeNode& node) {
  std::vector<absl::Span<const int64_t>> open = SpansOf(codes_);
  if (bound_ != nullptr) {
    int level = node.at.level;
    for (const TreePath* at = node.path.get(); at != nullptr; at = at->parent.get()) {
      open[tree_.ParameterOf(--level)] = absl::MakeConstSpan(&at->code, 1);
    }
  }
  const int parameter = tree_.ParameterOf(node.at.level);
  std::vector<TreeNode> children;
  for (const SpaceTree::Child& child : tree_.ChildrenOf(node.at)) {
    TreeNode& added = children.emplace_back();
    added.at = child.node;
    added.path = std::make_shared<const TreePath>(TreePath{child.code, node.path});
    added.bound = node.bound;
    if (bound_ == nullptr) continue;
    open[parameter] = absl::MakeConstSpan(&child.code, 1);
    added.bound = std::max(node.bound, bound_->Of(open));
  }
  return children;
}

Configuration TreeBounds::ConfigurationOf(const TreeNode& leaf) const {
  Configuration configuration(tree_.depth());
  int level = leaf.at.level;
  for (const TreePath* at = leaf.path.get(); at != nullptr; at = at->parent.get()) {
    configuration[tree_.ParameterOf(--level)] = at->code;
  }
  return configuration;
}

TreeCut::TreeCut(const SearchBound& bound)
    : is_on_(bound.bound != nullptr),
      gap_(bound.gap),
      threshold_(std::numeric_limits<double>::infinity()) {
  if (bound.incumbent.has_value()) Know(bound.incumbent);
}

void TreeCut::Know(Cost cost) {
  if (cost.has_value()) threshold_ = std::min(threshold_, *cost - gap_ * std::max(*cost, 0.0));
}

}  // namespace mdh

#include "tuner/space/space_tree.h"

#include "tuner/space/search_space_implementation.h"

namespace mdh {

int SpaceTree::ParameterOf(int level) const {
  return space_.implementation_->parameter_of_level[level];
}

std::vector<SpaceTree::Child> SpaceTree::ChildrenOf(const Node& node) const {
  const SearchSpace::Implementation& of = *space_.implementation_;
  const DiagramLevel& level = of.diagram.levels()[node.level];
  const PositionCodes& codes = of.codes[ParameterOf(node.level)];
  std::vector<Child> children;
  for (uint32_t edge = level.begin[node.node]; edge < level.begin[node.node + 1]; ++edge) {
    for (uint64_t position = level.first[edge]; position <= level.last[edge]; ++position) {
      children.push_back(
          {codes.CodeAt(static_cast<uint32_t>(position)), {node.level + 1, level.child[edge]}});
    }
  }
  return children;
}

Count SpaceTree::CountOf(const Node& node) const {
  return space_.implementation_->diagram.CountOf(node.level, node.node);
}

}  // namespace mdh

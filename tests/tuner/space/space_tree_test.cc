#include "tuner/space/space_tree.h"

#include <gtest/gtest.h>

#include <set>

namespace mdh::space_tree_test {
namespace {

// Calls with every configuration below a node.
template <typename F>
void Visit(const SpaceTree& tree, const SpaceTree::Node& node, Configuration& configuration,
           const F& visit) {
  if (node.level == tree.depth()) {
    EXPECT_EQ(tree.CountOf(node), 1);
    visit(configuration);
    return;
  }
  Count below = 0;
  for (const auto& [code, child] : tree.ChildrenOf(node)) {
    configuration[tree.ParameterOf(node.level)] = code;
    Visit(tree, child, configuration, visit);
    below += tree.CountOf(child);
  }
  EXPECT_EQ(below, tree.CountOf(node));
  EXPECT_GT(below, 0) << "no node is a dead end";
}

TEST(SpaceTree, HasEveryConfigurationOnce) {
  const Formula a = Formula::Parameter("A"), b = Formula::Parameter("B");
  const auto space = SearchSpace::Create({{"A", *Range::Integers({1, 2, 3, 4, 6, 12})},
                                          {"B", *Range::Integers({1, 2, 3, 4, 5, 6})},
                                          {"C", *Range::Integers({0, 1})}},
                                         {Divides(b, a), a * b <= 24});
  ASSERT_TRUE(space.ok()) << space.status();
  const SpaceTree tree(*space);
  std::set<Configuration> seen;
  Configuration configuration(3);
  Visit(tree, SpaceTree::Node(), configuration, [&](const Configuration& at) {
    EXPECT_TRUE(space->Contains(at));
    EXPECT_TRUE(seen.insert(at).second);
  });
  EXPECT_EQ(Count(static_cast<long>(seen.size())), space->count());
}

}  // namespace
}  // namespace mdh::space_tree_test

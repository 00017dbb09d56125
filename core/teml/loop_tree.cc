#include "core/teml/loop_tree.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// A tree in which every iterator that the values name has its value.
TensorTree SubstitutedTree(const TensorTree& tree, const IteratorSubstitution& values) {
  TensorNode node = *tree;
  IteratorSubstitution free = values;
  for (const std::string& bound : node.bound) free.erase(bound);
  node.indices = Substituted(node.indices, free);
  for (TensorTree& child : node.children) child = SubstitutedTree(child, free);
  return std::make_shared<const TensorNode>(std::move(node));
}

std::string BoundText(const std::vector<IteratorIndex>& upper) {
  std::string text = ToText(upper[0]);
  for (size_t n = 1; n < upper.size(); ++n) {
    text = absl::StrCat("min(", text, ", ", ToText(upper[n]), ")");
  }
  return text;
}

void AppendText(const LoopTrees& trees, const std::string& indent, std::string* out) {
  for (const LoopTree& tree : trees) {
    if (const AssignmentLeaf* const leaf = tree->leaf()) {
      const TensorAssignment& assignment = *leaf->assignment;
      absl::StrAppend(out, indent, assignment.target->name,
                      ToSubscripts(Substituted(assignment.indices, leaf->values)), " = ",
                      ToText(SubstitutedTree(assignment.value, leaf->values)), ";\n");
      continue;
    }
    const CountedLoop& loop = *tree->loop();
    const bool has_block = loop.body.size() != 1;
    if (loop.is_parallel || loop.is_vector) {
      absl::StrAppend(out, indent, "#pragma omp", loop.is_parallel ? " parallel for" : "",
                      loop.is_vector ? " simd" : "", "\n");
    }
    absl::StrAppend(out, indent, "for (int ", loop.iterator, " = ", ToText(loop.lower), "; ",
                    loop.iterator, " <= ", BoundText(loop.upper), "; ", loop.iterator, "++)",
                    has_block ? " {\n" : "\n");
    AppendText(loop.body, absl::StrCat(indent, "  "), out);
    if (has_block) absl::StrAppend(out, indent, "}\n");
  }
}

}  // namespace

LoopTree MakeLoop(CountedLoop loop) {
  LoopNode node{AssignmentLeaf{}, LeavesOf(loop.body), DepthOf(loop.body) + 1};
  node.node = std::move(loop);
  return std::make_shared<const LoopNode>(std::move(node));
}

LoopTree MakeLeaf(AssignmentLeaf leaf) {
  return std::make_shared<const LoopNode>(LoopNode{std::move(leaf)});
}

int64_t LeavesOf(const LoopTrees& trees) {
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t leaves = 0;
  for (const LoopTree& tree : trees) leaves = std::min(kMost, leaves + tree->leaves);
  return leaves;
}

std::set<int> AssignmentsOf(const LoopTrees& trees) {
  std::set<int> numbers;
  for (const LoopTree& tree : trees) {
    if (const AssignmentLeaf* const leaf = tree->leaf()) {
      numbers.insert(leaf->assignment->number);
    } else {
      numbers.merge(AssignmentsOf(tree->loop()->body));
    }
  }
  return numbers;
}

int DepthOf(const LoopTrees& trees) {
  int depth = 0;
  for (const LoopTree& tree : trees) depth = std::max(depth, tree->depth);
  return depth;
}

int PerfectDepthOf(const LoopTrees& trees) {
  int depth = 0;
  const LoopTrees* level = &trees;
  while (level->size() == 1 && (*level)[0]->loop() != nullptr) {
    level = &(*level)[0]->loop()->body;
    ++depth;
  }
  return depth;
}

LoopTrees Substituted(const LoopTrees& trees, const IteratorSubstitution& values) {
  LoopTrees result;
  for (const LoopTree& tree : trees) {
    if (const AssignmentLeaf* const leaf = tree->leaf()) {
      AssignmentLeaf changed{leaf->assignment, {}};
      // Iterators of the assignment that nothing is known of stand for themselves.
      for (const std::string& iterator : leaf->assignment->iterators) {
        const auto known = leaf->values.find(iterator);
        const IteratorIndex old =
            known == leaf->values.end() ? IteratorIndex::Of(iterator) : known->second;
        IteratorIndex index = Substituted(old, values);
        if (!(index == IteratorIndex::Of(iterator))) {
          changed.values.emplace(iterator, std::move(index));
        }
      }
      result.push_back(MakeLeaf(std::move(changed)));
      continue;
    }
    CountedLoop loop = *tree->loop();
    loop.lower = Substituted(loop.lower, values);
    for (IteratorIndex& bound : loop.upper) bound = Substituted(bound, values);
    IteratorSubstitution outer = values;
    outer.erase(loop.iterator);
    loop.body = Substituted(loop.body, outer);
    result.push_back(MakeLoop(std::move(loop)));
  }
  return result;
}

std::string ToText(const LoopTrees& trees) {
  std::string text;
  AppendText(trees, "", &text);
  return text;
}

}  // namespace mdh

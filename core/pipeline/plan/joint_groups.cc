#include "core/pipeline/plan/joint_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/pipeline/inverse_view.h"
#include "core/pipeline/plan/joint_halo.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

bool IsConcatenated(const Expression& expression, int d) {
  return !expression.is_reduction(d) && !expression.is_prefix_sum(d);
}

// What is wrong with one common dimension, or with the steps themselves; empty: nothing.
class JointChecker {
 public:
  // Expects that first and last are steps of the pipeline.
  JointChecker(const Pipeline& pipeline, const JointGroup& group)
      : pipeline_(pipeline), group_(group), views_(ViewsOf(pipeline, group.first, group.last)) {}

  std::string Dimensions() const {
    const size_t count = group_.dimensions.empty() ? 0 : group_.dimensions[0].size();
    if (std::ssize(group_.dimensions) != group_.last - group_.first + 1 || count == 0) {
      return "every step of a joint group needs its common dimensions, at least one";
    }
    for (int s = group_.first; s <= group_.last; ++s) {
      const std::vector<int>& own = group_.dimensions[s - group_.first];
      if (own.size() != count) {
        return absl::StrCat(StepText(s), " has ", own.size(), " common dimensions, ",
                            StepText(group_.first), " has ", count);
      }
      const std::set<int> different(own.begin(), own.end());
      if (different.size() != count || *different.begin() < 0 ||
          *different.rbegin() >= ExpressionOf(s).rank()) {
        return absl::StrCat("common dimensions of ", StepText(s), " are different ones of its ",
                            ExpressionOf(s).rank());
      }
    }
    return "";
  }

  std::string Dimension(size_t k) const {
    for (int s = group_.first; s <= group_.last; ++s) {
      const Expression& e = ExpressionOf(s);
      const auto& [name, size] = e.dimensions()[DimensionOf(s, k)];
      const int64_t last_size =
          ExpressionOf(group_.last).dimensions()[DimensionOf(group_.last, k)].size;
      if (size == 0) return absl::StrCat("dimension '", name, "' of ", StepText(s), " is empty");
      if (size != last_size && !WritesForGroup(s)) {
        return absl::StrCat("dimension '", name, "' of ", StepText(s), " has ", size,
                            " points, that of ", StepText(group_.last), " has ", last_size);
      }
      if (!IsConcatenated(e, DimensionOf(s, k))) {
        return absl::StrCat(StepText(s), " combines along '", name, "'");
      }
    }
    std::string obstacle = Within(k);
    if (obstacle.empty()) obstacle = Halo(k);
    if (obstacle.empty()) obstacle = FromOutside(k);
    return obstacle;
  }

 private:
  const Expression& ExpressionOf(int s) const { return pipeline_.steps()[s].expression; }
  int DimensionOf(int s, size_t k) const { return group_.dimensions[s - group_.first][k]; }
  std::string StepText(int s) const {
    return absl::StrCat("step ", s + 1, " (", ExpressionOf(s).name(), ")");
  }
  std::string BufferText(int b) const {
    return absl::StrCat("'", pipeline_.buffers()[b].name, "'");
  }
  std::string Name(int s, size_t k) const {
    return absl::StrCat("'", ExpressionOf(s).dimensions()[DimensionOf(s, k)].name, "'");
  }

  std::string Within(size_t k) const {
    for (const StepView& use : views_) {
      if (!use.writes || !IsWithin(views_, use.buffer)) continue;
      if (CommonPlace(views_, group_, use.buffer, k) >= 0) continue;
      return absl::StrCat("not every step that uses ", BufferText(use.buffer), " has ",
                          Name(use.step, k), " of ", StepText(use.step),
                          " as one index of it, the same one, alone: a part would need what "
                          "another one computes");
    }
    return "";
  }

  // Whether steps of the group alone read what the step writes.
  bool WritesForGroup(int s) const {
    const std::vector<int>& outputs = pipeline_.steps()[s].outputs;
    return std::ranges::all_of(outputs,
                               [&](int buffer) { return IsOfPart(pipeline_, group_, buffer); });
  }

  // What is computed more than once, or not for every point, only steps of the group may read; and
  // it must be there.
  std::string Halo(size_t k) const {
    const std::vector<std::vector<StepWindow>> windows = WindowsOf(pipeline_, group_);
    const int64_t extent = ExpressionOf(group_.last).dimensions()[DimensionOf(group_.last, k)].size;
    for (int s = group_.first; s <= group_.last; ++s) {
      const StepWindow& window = windows[static_cast<size_t>(s - group_.first)][k];
      const StepWindow part = {0, group_.part[k]};
      if (window == part && !WritesForGroup(s)) continue;
      if (!WritesForGroup(s)) {
        return absl::StrCat("what ", StepText(s), " writes is read at another ", Name(s, k),
                            ", and also outside of the group");
      }
      const int64_t size = ExpressionOf(s).dimensions()[DimensionOf(s, k)].size;
      if (window.first >= 0 && extent - group_.part[k] + window.first + window.points <= size) {
        continue;
      }
      return absl::StrCat("what ", StepText(s), " writes is read outside of its ", Name(s, k));
    }
    return "";
  }

  std::string FromOutside(size_t k) const {
    std::map<std::tuple<int, int, bool>, int64_t> moves;  // of a step's inputs and outputs
    for (const StepView& use : views_) {
      const int d = DimensionOf(use.step, k);
      const std::string text = absl::StrCat(StepText(use.step), use.writes ? " writes " : " reads ",
                                            BufferText(use.buffer));
      for (int a = 0; a < std::ssize(use.view->accesses); ++a) {
        const int64_t move = MoveAlong(*use.view, a, d);
        const auto [found, is_new] = moves.try_emplace({use.step, use.position, use.writes}, move);
        if (found->second != move) {
          return absl::StrCat(text, " at indices that move differently along ", Name(use.step, k));
        }
        if (use.view->boundary.kind == Boundary::Kind::kNone) continue;
        for (size_t x = 0; x < use.view->extents.size(); ++x) {
          const AffineIndex& index = use.view->accesses[a].indices[x];
          if (index.coefficients[d] == 0) continue;
          const std::optional<ReadRange> range =
              RangeOf(index, ExpressionOf(use.step).dimensions());
          if (!range || range->smallest < 0 || range->largest >= use.view->extents[x]) {
            return absl::StrCat(text, " at an index that moves along ", Name(use.step, k),
                                " and leaves the buffer");
          }
        }
      }
    }
    return "";
  }

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const std::vector<StepView> views_;
};

// Dimensions of steps that one index of buffers stands for.
class DimensionClasses {
 public:
  DimensionClasses(const Pipeline& pipeline, int first, int last)
      : pipeline_(pipeline), first_(first), last_(last), views_(ViewsOf(pipeline, first, last)) {
    for (int s = first; s <= last; ++s) {
      first_node_.push_back(static_cast<int>(parent_.size()));
      for (int d = 0; d < pipeline.steps()[s].expression.rank(); ++d) {
        parent_.push_back(static_cast<int>(parent_.size()));
        step_.push_back(s);
      }
    }
  }

  // Per class with one dimension of every step these dimensions.
  std::vector<std::vector<int>> Complete() {
    for (const bool within : {true, false}) UniteThroughBuffers(within);
    std::map<int, std::vector<int>> classes;
    for (int node = 0; node < std::ssize(parent_); ++node) classes[Root(node)].push_back(node);
    std::vector<std::vector<int>> complete;
    for (const auto& [root, nodes] : classes) {
      if (std::ssize(nodes) != last_ - first_ + 1) continue;
      std::vector<int> dimensions;
      for (const int node : nodes) {
        if (step_[node] != first_ + std::ssize(dimensions)) break;
        dimensions.push_back(node - first_node_[step_[node] - first_]);
      }
      if (dimensions.size() == nodes.size()) complete.push_back(std::move(dimensions));
    }
    return complete;
  }

 private:
  int Root(int node) const {
    while (parent_[node] != node) node = parent_[node];
    return node;
  }
  std::set<int> StepsOf(int root) const {
    std::set<int> steps;
    for (int node = 0; node < std::ssize(parent_); ++node) {
      if (Root(node) == root) steps.insert(step_[node]);
    }
    return steps;
  }

  // What is written within the group says which dimensions are one. What steps only read has them
  // guessed where that leaves at most one of every step.
  void UniteThroughBuffers(bool within) {
    std::map<std::pair<int, int>, int> node_at;  // by buffer and place
    for (const StepView& use : views_) {
      if (IsWithin(views_, use.buffer) != within) continue;
      for (int x = 0; x < std::ssize(use.view->extents); ++x) {
        const int d = within && !use.writes ? ShiftedDimensionAt(*use.view, x)
                                            : PlainDimensionAt(*use.view, x);
        if (d < 0 || !IsConcatenated(pipeline_.steps()[use.step].expression, d)) continue;
        const int node = first_node_[use.step - first_] + d;
        const auto [found, is_new] = node_at.try_emplace({use.buffer, x}, node);
        if (!is_new) Unite(found->second, node, !within);
      }
    }
  }

  void Unite(int a, int b, bool is_guess) {
    a = Root(a);
    b = Root(b);
    if (a == b) return;
    if (is_guess) {
      const std::set<int> of_a = StepsOf(a), of_b = StepsOf(b);
      const bool has_both =
          std::ranges::any_of(of_a, [&](int step) { return of_b.contains(step); });
      if (has_both || SizeOf(a) != SizeOf(b)) return;
    }
    parent_[std::max(a, b)] = std::min(a, b);
  }
  int64_t SizeOf(int node) const {
    const int d = node - first_node_[step_[node] - first_];
    return pipeline_.steps()[step_[node]].expression.dimensions()[d].size;
  }

  const Pipeline& pipeline_;
  const int first_, last_;
  const std::vector<StepView> views_;
  std::vector<int> first_node_;     // per step
  std::vector<int> parent_, step_;  // per node
};

int64_t LargestDivisor(int64_t n, int64_t most) {
  int64_t best = 1;
  for (int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    if (d <= most) best = std::max(best, d);
    if (n / d <= most) best = std::max(best, n / d);
  }
  return best;
}

}  // namespace

Status CheckJointGroup(const Pipeline& pipeline, const JointGroup& group) {
  if (group.first < 0 || group.last <= group.first || group.last >= std::ssize(pipeline.steps())) {
    return Obstacle("a joint group has two steps or more of the ", pipeline.steps().size(),
                    " that there are, not ", group.first + 1, " to ", group.last + 1);
  }
  const JointChecker checker(pipeline, group);
  if (const std::string obstacle = checker.Dimensions(); !obstacle.empty()) {
    return Obstacle(obstacle);
  }
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  if (group.part.size() != extents.size()) {
    return Obstacle("a part has ", group.part.size(), " extents, there are ", extents.size(),
                    " common dimensions");
  }
  for (size_t k = 0; k < extents.size(); ++k) {
    if (const std::string obstacle = checker.Dimension(k); !obstacle.empty()) {
      return Obstacle(obstacle);
    }
    if (group.part[k] >= 1 && extents[k] % group.part[k] == 0) continue;
    return Obstacle("parts of ", group.part[k], " points do not divide the ", extents[k],
                    " of common dimension ", k + 1);
  }
  return absl::OkStatus();
}

std::optional<JointGroup> WidestJointGroup(const Pipeline& pipeline, int first, int last) {
  JointGroup group{first, last, std::vector<std::vector<int>>(last - first + 1), {}};
  for (const std::vector<int>& common : DimensionClasses(pipeline, first, last).Complete()) {
    JointGroup one{first, last, {}, {1}};
    for (const int d : common) one.dimensions.push_back({d});
    if (!JointChecker(pipeline, one).Dimension(0).empty()) continue;
    for (size_t s = 0; s < common.size(); ++s) group.dimensions[s].push_back(common[s]);
    group.part.push_back(1);
  }
  if (group.part.empty()) return std::nullopt;
  return group;
}

std::vector<JointGroup> JointGroups(const Pipeline& pipeline) {
  const int steps = static_cast<int>(pipeline.steps().size());
  std::map<std::pair<int, int>, JointGroup> groups;
  for (int first = 0; first < steps; ++first) {
    for (int last = first + 1; last < steps; ++last) {
      std::optional<JointGroup> group = WidestJointGroup(pipeline, first, last);
      if (group) groups.emplace(std::pair(first, last), *std::move(group));
    }
  }
  std::vector<JointGroup> offered;
  for (int first = 0; first < steps; ++first) {
    for (int last = steps - 1; last > first; --last) {
      const auto group = groups.find({first, last});
      if (group == groups.end()) continue;
      const bool is_contained = std::ranges::any_of(groups, [&](const auto& other) {
        const auto& [steps_of, longer] = other;
        return steps_of != group->first && steps_of.first <= first && steps_of.second >= last &&
               longer.part.size() >= group->second.part.size();
      });
      if (!is_contained) offered.push_back(group->second);
    }
  }
  return offered;
}

JointGroup WithPart(const Pipeline& pipeline, JointGroup group, int64_t points) {
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  group.part.assign(extents.size(), 1);
  for (size_t k = extents.size(); k-- > 0;) {
    group.part[k] = LargestDivisor(extents[k], std::max<int64_t>(points, 1));
    if (group.part[k] < extents[k]) break;
    points /= group.part[k];
  }
  return group;
}

std::vector<int64_t> CommonExtents(const Pipeline& pipeline, const JointGroup& group) {
  std::vector<int64_t> extents;
  for (const int d : group.dimensions.back()) {
    extents.push_back(pipeline.steps()[group.last].expression.dimensions()[d].size);
  }
  return extents;
}

int64_t PartsOf(const Pipeline& pipeline, const JointGroup& group) {
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  int64_t parts = 1;
  for (size_t k = 0; k < extents.size(); ++k) {
    parts = MultiplyOrLargest(parts, extents[k] / group.part[k]);
  }
  return parts;
}

}  // namespace mdh

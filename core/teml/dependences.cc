#include "core/teml/dependences.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/expression/integer_points.h"

namespace mdh {
namespace {

// For all comparisons of a program: about the additions that they take.
constexpr int64_t kMaxWork = 20'000'000;

// A leaf with the way from the top.
struct PlacedLeaf {
  const AssignmentLeaf* leaf;
  std::vector<const CountedLoop*> loops;
  std::vector<size_t> path;  // number of the child at every level, beginning with the nest
};

void AppendLeaves(const LoopTrees& trees, std::vector<const CountedLoop*>* loops,
                  std::vector<size_t>* path, std::vector<PlacedLeaf>* leaves) {
  for (size_t n = 0; n < trees.size(); ++n) {
    path->push_back(n);
    if (const AssignmentLeaf* const leaf = trees[n]->leaf()) {
      leaves->push_back({leaf, *loops, *path});
    } else {
      loops->push_back(trees[n]->loop());
      AppendLeaves(trees[n]->loop()->body, loops, path, leaves);
      loops->pop_back();
    }
    path->pop_back();
  }
}

// One use of a tensor: where it is written or read.
struct ElementUse {
  const RealTensor* tensor;
  IteratorList indices;  // in terms of the loops' iterators
  bool is_write;
};

std::vector<ElementUse> UsesOf(const AssignmentLeaf& leaf) {
  const TensorAssignment& assignment = *leaf.assignment;
  std::vector<ElementUse> uses = {
      {assignment.target.get(), Substituted(assignment.indices, leaf.values), true}};
  for (const TensorNode* access : AccessesOf(assignment.terms)) {
    uses.push_back({access->tensor.get(), Substituted(access->indices, leaf.values), false});
  }
  return uses;
}

// Sums over numbered variables.
struct LinearForm {
  std::map<int, int64_t> coefficients = {};
  int64_t constant = 0;

  void Add(const LinearForm& other, int64_t factor) {
    constant += factor * other.constant;
    for (const auto& [variable, coefficient] : other.coefficients) {
      coefficients[variable] += factor * coefficient;
    }
  }
};

// Pairs of instances of two leaves that use one element, as points of a box with equations. The
// variables are how far iterators are from their lower bounds, so that the ranges of tiled loops
// are boxes; of loops around both leaves there is the second instance's variable and how much more
// the first one's is.
class InstancePairs {
 public:
  InstancePairs(const PlacedLeaf& first, const PlacedLeaf& second, size_t common)
      : common_(common) {
    std::map<std::string, LinearForm> first_values, second_values;
    for (size_t l = 0; l < common; ++l) {
      const int64_t points = PointsOf(*second.loops[l]);
      const LinearForm own = NewVariable({0, points - 1});
      differences_.push_back(static_cast<int>(box_.size()));
      LinearForm other = NewVariable({1 - points, points - 1});
      other.Add(own, 1);
      Enter(*first.loops[l], other, &first_values);
      Enter(*second.loops[l], own, &second_values);
      if (points > 1) Bound(other, points - 1);
    }
    EnterAll(first, &first_values);
    EnterAll(second, &second_values);
    first_values_ = std::move(first_values);
    second_values_ = std::move(second_values);
  }

  // An element that both use, of instances whose iterators are the same in the loops around
  // `level`, and of which the first one is at a later iteration of that loop (`later` 1) or at an
  // earlier one (-1); with level == common in none.
  Result<std::optional<std::vector<int64_t>>> Find(const ElementUse& first,
                                                   const ElementUse& second, size_t level,
                                                   int later, int64_t* work) const {
    std::vector<IntegerInterval> box = box_;
    for (size_t l = 0; l < common_; ++l) {
      IntegerInterval& difference = box[differences_[l]];
      if (l < level) difference = {0, 0};
      if (l > level) continue;
      if (l == level && later > 0) difference.lowest = 1;
      if (l == level && later < 0) difference.highest = -1;
      if (difference.lowest > difference.highest) return std::optional<std::vector<int64_t>>();
    }
    std::vector<LinearForm> zeros = equations_;
    for (size_t d = 0; d < first.indices.size(); ++d) {
      LinearForm difference = ValueOf(first.indices[d], first_values_);
      difference.Add(ValueOf(second.indices[d], second_values_), -1);
      zeros.push_back(std::move(difference));
    }
    std::vector<LinearEquation> equations;
    for (const LinearForm& zero : zeros) {
      LinearEquation equation{std::vector<int64_t>(box.size(), 0), -zero.constant};
      for (const auto& [variable, coefficient] : zero.coefficients) {
        equation.coefficients[variable] = coefficient;
      }
      equations.push_back(std::move(equation));
    }
    const int64_t variables = static_cast<int64_t>(box.size());
    const int64_t work_of_step = 1 + static_cast<int64_t>(equations.size()) * variables * variables;
    int64_t steps = *work / work_of_step;
    const auto found = FindIntegerPoint(equations, std::move(box), &steps);
    *work = steps * work_of_step;
    MDH_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> point, found);
    if (!point.has_value()) return point;
    std::vector<int64_t> element;
    for (const IteratorIndex& index : second.indices) {
      const LinearForm form = ValueOf(index, second_values_);
      int64_t value = form.constant;
      for (const auto& [variable, coefficient] : form.coefficients) {
        value += coefficient * (*point)[variable];
      }
      element.push_back(value);
    }
    return std::optional<std::vector<int64_t>>(std::move(element));
  }

 private:
  using Values = std::map<std::string, LinearForm>;

  static int64_t PointsOf(const CountedLoop& loop) {
    int64_t most = 0;
    bool is_known = false;
    for (const IteratorIndex& upper : loop.upper) {
      const IteratorIndex span = Sum(upper, Scaled(loop.lower, -1));
      if (!span.terms.empty()) continue;
      most = is_known ? std::min(most, span.constant + 1) : span.constant + 1;
      is_known = true;
    }
    return most;
  }

  LinearForm NewVariable(IntegerInterval interval) {
    box_.push_back(interval);
    return {{{static_cast<int>(box_.size()) - 1, 1}}, 0};
  }

  // 0 <= form <= most.
  void Bound(const LinearForm& form, int64_t most) {
    LinearForm equation = form;
    equation.Add(NewVariable({0, most}), -1);
    equations_.push_back(std::move(equation));
  }

  // The value of a loop's iterator, `offset` behind its lower bound, and its last part's end.
  void Enter(const CountedLoop& loop, const LinearForm& offset, Values* values) {
    LinearForm value = ValueOf(loop.lower, *values);
    value.Add(offset, 1);
    for (const IteratorIndex& upper : loop.upper) {
      if (Sum(upper, Scaled(loop.lower, -1)).terms.empty()) continue;
      LinearForm room = ValueOf(upper, *values);
      room.Add(value, -1);
      Bound(room, int64_t{1} << 41);
    }
    (*values)[loop.iterator] = std::move(value);
  }

  void EnterAll(const PlacedLeaf& leaf, Values* values) {
    for (size_t l = common_; l < leaf.loops.size(); ++l) {
      Enter(*leaf.loops[l], NewVariable({0, PointsOf(*leaf.loops[l]) - 1}), values);
    }
    // Iterators of sums inside of the value are no loops.
    for (const auto& [iterator, range] : leaf.leaf->assignment->ranges) {
      if (values->count(iterator) == 0) (*values)[iterator] = NewVariable({0, range - 1});
    }
  }

  static LinearForm ValueOf(const IteratorIndex& index, const Values& values) {
    LinearForm form{{}, index.constant};
    for (const IteratorTerm& term : index.terms) {
      form.Add(values.at(term.iterator), term.coefficient);
    }
    return form;
  }

  const size_t common_;
  std::vector<IntegerInterval> box_;
  std::vector<LinearForm> equations_;  // that are 0
  std::vector<int> differences_;       // variables of the loops around both
  Values first_values_, second_values_;
};

class DependenceCheck {
 public:
  DependenceCheck(const std::vector<GeneratedLoops>& generated, const ProgramText& text)
      : generated_(generated), text_(text) {}

  Status Run() {
    std::vector<PlacedLeaf> leaves;
    for (size_t n = 0; n < generated_.size(); ++n) {
      std::vector<const CountedLoop*> loops;
      std::vector<size_t> path = {n};
      AppendLeaves(generated_[n].trees, &loops, &path, &leaves);
    }
    std::map<int, std::vector<const PlacedLeaf*>> by_assignment;
    for (const PlacedLeaf& leaf : leaves) {
      by_assignment[leaf.leaf->assignment->number].push_back(&leaf);
    }
    for (auto first = by_assignment.begin(); first != by_assignment.end(); ++first) {
      for (auto second = std::next(first); second != by_assignment.end(); ++second) {
        // All of an assignment is in one nest.
        if (first->second[0]->path[0] < second->second[0]->path[0]) continue;
        if (!Conflict(*first->second[0], *second->second[0])) continue;
        for (const PlacedLeaf* one : first->second) {
          for (const PlacedLeaf* other : second->second) MDH_RETURN_IF_ERROR(Compare(*one, *other));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  const Token& PlaceOf(const PlacedLeaf& first, const PlacedLeaf& second) const {
    const size_t common = Common(first, second);
    return common > 0 ? second.loops[common - 1]->token : generated_[second.path[0]].token;
  }

  Status TooMuch(const PlacedLeaf& first, const PlacedLeaf& second) const {
    return text_.ErrorAt(PlaceOf(first, second), "whether these loops keep the order of ",
                         text_.LineOf(first.leaf->assignment->token), " and ",
                         text_.LineOf(second.leaf->assignment->token),
                         " takes too long to decide; unroll less, or generate separate nests");
  }

  // Loops around both.
  static size_t Common(const PlacedLeaf& first, const PlacedLeaf& second) {
    size_t common = 0;
    while (common < first.loops.size() && common < second.loops.size() &&
           first.loops[common] == second.loops[common] &&
           std::equal(first.path.begin(), first.path.begin() + common + 2, second.path.begin())) {
      ++common;
    }
    return common;
  }

  static bool Meet(const ElementUse& first, const ElementUse& second) {
    return first.tensor->name == second.tensor->name && (first.is_write || second.is_write);
  }

  static bool Conflict(const PlacedLeaf& first, const PlacedLeaf& second) {
    const std::vector<ElementUse> uses = UsesOf(*first.leaf), others = UsesOf(*second.leaf);
    return std::ranges::any_of(uses, [&](const ElementUse& use) {
      return std::ranges::any_of(others, [&](const ElementUse& other) { return Meet(use, other); });
    });
  }

  Status Compare(const PlacedLeaf& first, const PlacedLeaf& second) {
    const size_t common = Common(first, second);
    work_ -= 10;
    if (common == 0 && first.path < second.path) {
      return work_ < 0 ? TooMuch(first, second) : absl::OkStatus();
    }
    work_ -= 100 * static_cast<int64_t>(1 + first.leaf->assignment->value->nodes +
                                        second.leaf->assignment->value->nodes + first.loops.size() +
                                        second.loops.size());
    if (work_ < 0) return TooMuch(first, second);
    const InstancePairs pairs(first, second, common);
    for (const ElementUse& use : UsesOf(*first.leaf)) {
      for (const ElementUse& other : UsesOf(*second.leaf)) {
        if (!Meet(use, other)) continue;
        MDH_RETURN_IF_ERROR(CompareUses(pairs, common, first, use, second, other));
      }
    }
    return absl::OkStatus();
  }

  Status CompareUses(const InstancePairs& pairs, size_t common, const PlacedLeaf& first,
                     const ElementUse& use, const PlacedLeaf& second, const ElementUse& other) {
    for (size_t level = 0; level <= common; ++level) {
      const bool is_loop = level < common;
      const bool any_order =
          is_loop && (second.loops[level]->is_parallel || second.loops[level]->is_vector);
      if (!is_loop && first.path < second.path) break;
      for (const int later : {is_loop ? 1 : 0, -1}) {
        if (later < 0 && !any_order) break;
        const auto element = pairs.Find(use, other, level, later, &work_);
        if (!element.ok()) return TooMuch(first, second);
        if (element->has_value()) {
          return Violation(first, use, second, other, **element,
                           any_order ? second.loops[level] : nullptr);
        }
      }
    }
    return absl::OkStatus();
  }

  static std::string ElementText(const RealTensor& tensor, const std::vector<int64_t>& element) {
    if (element.empty()) return "";
    return absl::StrCat(", for instance at element [", absl::StrJoin(element, "]["), "] of '",
                        tensor.name, "'");
  }

  Status Violation(const PlacedLeaf& first, const ElementUse& use, const PlacedLeaf& second,
                   const ElementUse& other, const std::vector<int64_t>& element,
                   const CountedLoop* any_order) const {
    const TensorAssignment& before = *first.leaf->assignment;
    const TensorAssignment& behind = *second.leaf->assignment;
    const std::string what =
        use.is_write && !other.is_write
            ? absl::StrCat("would compute '", behind.target->name, "' (",
                           text_.LineOf(behind.token), ") before '", before.target->name, "' (",
                           text_.LineOf(before.token), ") is complete")
        : use.is_write
            ? absl::StrCat("would write '", before.target->name, "' in ",
                           text_.LineOf(before.token), " after ", text_.LineOf(behind.token),
                           " has")
            : absl::StrCat("would write '", behind.target->name, "' (", text_.LineOf(behind.token),
                           ") before ", text_.LineOf(before.token), " has read it");
    return text_.ErrorAt(
        PlaceOf(first, second), "these loops ", what, ElementText(*other.tensor, element),
        any_order == nullptr
            ? ""
            : absl::StrCat(", as iterations of '", any_order->iterator, "' run in any order"),
        "; fuse fewer loops, or let codegen list nests of their own in the order of "
        "the statements");
  }

  const std::vector<GeneratedLoops>& generated_;
  const ProgramText& text_;
  int64_t work_ = kMaxWork;
};

}  // namespace

Status CheckDependences(const std::vector<GeneratedLoops>& generated, const ProgramText& text) {
  return DependenceCheck(generated, text).Run();
}

}  // namespace mdh

#include "core/teml/nest_path.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// An assignment in its place.
struct FoundLeaf {
  const AssignmentLeaf* leaf;
  std::vector<const CountedLoop*> loops;  // around it, outermost first
  std::vector<size_t> path;               // positions in the lists of trees
};

class LeafFinder {
 public:
  explicit LeafFinder(int assignment) : assignment_(assignment) {}

  std::vector<FoundLeaf> Find(const LoopTrees& trees) && {
    Visit(trees);
    return std::move(found_);
  }

 private:
  void Visit(const LoopTrees& trees) {
    for (size_t n = 0; n < trees.size(); ++n) {
      path_.push_back(n);
      if (const AssignmentLeaf* const leaf = trees[n]->leaf()) {
        if (leaf->assignment->number == assignment_) found_.push_back({leaf, loops_, path_});
      } else {
        loops_.push_back(trees[n]->loop());
        Visit(trees[n]->loop()->body);
        loops_.pop_back();
      }
      path_.pop_back();
    }
  }

  const int assignment_;
  std::vector<const CountedLoop*> loops_;
  std::vector<size_t> path_;
  std::vector<FoundLeaf> found_;
};

// "#2": how far the loop at that place of a path is from its lower bound.
std::string OffsetOf(size_t loop) { return absl::StrCat("#", loop); }

// The assignment's iterators as sums of these.
IteratorList ValuesOf(const FoundLeaf& found) {
  IteratorSubstitution values;
  for (size_t l = 0; l < found.loops.size(); ++l) {
    const CountedLoop& loop = *found.loops[l];
    values[loop.iterator] = Sum(Substituted(loop.lower, values), IteratorIndex::Of(OffsetOf(l)));
  }
  IteratorList list;
  for (const std::string& iterator : found.leaf->assignment->iterators) {
    const auto known = found.leaf->values.find(iterator);
    const IteratorIndex index =
        known == found.leaf->values.end() ? IteratorIndex::Of(iterator) : known->second;
    list.push_back(Substituted(index, values));
  }
  return list;
}

int64_t CoefficientOf(const IteratorIndex& index, const std::string& term) {
  for (const IteratorTerm& candidate : index.terms) {
    if (candidate.iterator == term) return candidate.coefficient;
  }
  return 0;
}

// Loops around both.
size_t CommonLoops(const FoundLeaf& a, const FoundLeaf& b) {
  size_t common = 0;
  while (common < a.loops.size() && common < b.loops.size() && a.path[common] == b.path[common] &&
         a.loops[common] == b.loops[common]) {
    ++common;
  }
  return common;
}

PathLoopKind KindOf(const CountedLoop& loop) {
  return loop.is_vector     ? PathLoopKind::kVector
         : loop.is_parallel ? PathLoopKind::kParallel
                            : PathLoopKind::kSequential;
}

Status Irregular() {
  return FailedPrecondition("its copies do not fill all points of the loops that were unrolled");
}

// A loop that was unrolled.
struct UnrolledLoop {
  PathLoop loop;
  size_t outer;   // loops around its copies
  size_t stride;  // assignments from one copy to the next
};

class PathReader {
 public:
  explicit PathReader(std::vector<FoundLeaf> leaves) : leaves_(std::move(leaves)) {
    for (const FoundLeaf& found : leaves_) values_.push_back(ValuesOf(found));
  }

  Result<std::vector<PathLoop>> Read() {
    const FoundLeaf& first = leaves_[0];
    std::vector<UnrolledLoop> unrolled;
    size_t copies = 1;
    for (size_t i = 0; i < values_[0].size(); ++i) {
      MDH_ASSIGN_OR_RETURN(const std::vector<int64_t> constants, ConstantsOf(i));
      copies *= constants.size();
      if (constants.size() == 1) continue;
      MDH_ASSIGN_OR_RETURN(unrolled.emplace_back(), UnrolledOf(static_cast<int>(i), constants));
    }
    if (copies != leaves_.size()) return Irregular();
    // Of several at one place the one whose copies are further apart is around the others.
    std::ranges::sort(unrolled, [](const auto& a, const auto& b) {
      return std::make_pair(a.outer, b.stride) < std::make_pair(b.outer, a.stride);
    });
    std::vector<PathLoop> path;
    auto next = unrolled.begin();
    for (size_t l = 0; l <= first.loops.size(); ++l) {
      for (; next != unrolled.end() && next->outer == l; ++next) path.push_back(next->loop);
      if (l < first.loops.size()) path.push_back(LoopAt(l));
    }
    KeepInside(&path);
    return path;
  }

 private:
  // Those of an iterator, ascending. Errors: loops are not the same for all copies.
  Result<std::vector<int64_t>> ConstantsOf(size_t iterator) const {
    std::set<int64_t> constants;
    for (const IteratorList& list : values_) {
      if (!(list[iterator].terms == values_[0][iterator].terms)) return Irregular();
      constants.insert(list[iterator].constant);
    }
    return std::vector<int64_t>(constants.begin(), constants.end());
  }

  // The copies for one iterator, those for all others being the same.
  Result<UnrolledLoop> UnrolledOf(int iterator, const std::vector<int64_t>& constants) const {
    const int64_t step = constants[1] - constants[0];
    for (size_t n = 1; n < constants.size(); ++n) {
      if (constants[n] - constants[n - 1] != step) return Irregular();
    }
    for (size_t n = 1; n < leaves_.size(); ++n) {
      bool is_next = true;
      for (size_t i = 0; i < values_[n].size(); ++i) {
        const int64_t distance = values_[n][i].constant - values_[0][i].constant;
        is_next &= distance == (static_cast<int>(i) == iterator ? step : 0);
      }
      if (!is_next) continue;
      return UnrolledLoop{
          {iterator, step, PathLoopKind::kUnrolled, leaves_[0].leaf->assignment->token},
          CommonLoops(leaves_[0], leaves_[n]),
          n};
    }
    return Irregular();
  }

  // Parts that are larger than the part around them are as large as that.
  static void KeepInside(std::vector<PathLoop>* path) {
    std::map<int, int64_t> around;
    for (PathLoop& loop : *path) {
      const auto outer = around.find(loop.iterator);
      if (outer != around.end()) loop.points = std::min(loop.points, outer->second);
      around[loop.iterator] = loop.points;
    }
  }

  PathLoop LoopAt(size_t loop) const {
    const CountedLoop& counted = *leaves_[0].loops[loop];
    for (size_t i = 0; i < values_[0].size(); ++i) {
      const int64_t points = CoefficientOf(values_[0][i], OffsetOf(loop));
      if (points != 0) return {static_cast<int>(i), points, KindOf(counted), counted.token};
    }
    return {0, 1, KindOf(counted), counted.token};
  }

  const std::vector<FoundLeaf> leaves_;  // of one assignment, in their order
  std::vector<IteratorList> values_;     // of its iterators, at each of them
};

}  // namespace

Result<std::vector<PathLoop>> PathTo(int assignment, const LoopTrees& trees) {
  return PathReader(LeafFinder(assignment).Find(trees)).Read();
}

}  // namespace mdh

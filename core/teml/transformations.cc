#include "core/teml/transformations.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr int64_t kMaxLeaves = 1 << 14;
constexpr int kMaxDepth = 128;
constexpr int64_t kLargestPart = 1 << 20;

// "i_b" for the blocks of i, and for blocks of its blocks, which are called i_b or i_b2.
std::string OfBlocks(const std::string& iterator) {
  const size_t end = iterator.find_last_not_of("0123456789") + 1;
  const bool is_of_blocks = iterator.substr(0, end).ends_with("_b");
  return absl::StrCat(is_of_blocks ? iterator.substr(0, end - 2) : iterator, "_b");
}

// A list of trees, changed.
using Change = std::function<Result<LoopTrees>(const LoopTrees&)>;

class Transformation {
 public:
  explicit Transformation(const TransformationContext& context) : context_(context) {}

  Result<LoopTrees> Run(const std::vector<LoopTrees>& loops) {
    const LoopTrees& nest = loops[0];
    switch (context_.syntax->function) {
      case LoopFunction::kBuild:
        break;  // It has no nest.
      case LoopFunction::kStripmine:
        return Stripmine(nest, Number(0), Number(1));
      case LoopFunction::kInterchange:
        return Interchange(nest, Number(0), Number(1));
      case LoopFunction::kFuseOuter:
        return FuseOuter(nest, loops[1], Number(0));
      case LoopFunction::kFuseInner:
        return FuseInner(nest, Number(0));
      case LoopFunction::kUnroll:
        return Unroll(nest, Number(0));
      case LoopFunction::kParallelize:
        return Flag(nest, Number(0), &CountedLoop::is_parallel, "parallelize");
      case LoopFunction::kVectorize:
        return Flag(nest, Number(0), &CountedLoop::is_vector, "vectorize");
      case LoopFunction::kStripmineN:
        return StripmineN(nest, Number(0), Number(1));
      case LoopFunction::kInterchangeN:
        return InterchangeN(nest, Number(0), Number(1));
      case LoopFunction::kTile:
        return Tile(nest, Number(0));
    }
    return Error(context_.statement, "no loops");
  }

 private:
  int64_t Number(size_t n) const { return context_.syntax->numbers[n].value; }
  const Token& TokenOfNumber(size_t n) const { return context_.syntax->numbers[n].token; }

  template <typename... Parts>
  Status Error(const Token& token, const Parts&... message) const {
    return context_.text->ErrorAt(token, message...);
  }

  // Where level `r` is written.
  const Token& PlaceOfLevel() const {
    return context_.syntax->numbers.empty() ? context_.statement : TokenOfNumber(0);
  }

  // The list below r - 1 loops that have one child each, changed. `rule`: for messages.
  Result<LoopTrees> AtLevel(const LoopTrees& trees, int64_t r, absl::string_view rule,
                            const Change& change) {
    const int64_t depth = PerfectDepthOf(trees);
    if (r < 1 || r > depth + 1) {
      return Error(PlaceOfLevel(), rule, " needs a loop at level ", r,
                   ", but the nest is perfect for ", depth, depth == 1 ? " loop" : " loops",
                   "; levels count from 1, outermost");
    }
    return Below(trees, r - 1, change);
  }

  static Result<LoopTrees> Below(const LoopTrees& trees, int64_t loops, const Change& change) {
    if (loops == 0) return change(trees);
    CountedLoop loop = *trees[0]->loop();
    MDH_ASSIGN_OR_RETURN(loop.body, Below(loop.body, loops - 1, change));
    return LoopTrees{MakeLoop(std::move(loop))};
  }

  // The only loop of a list. Errors: InvalidArgument.
  Result<const CountedLoop*> OnlyLoop(const LoopTrees& level, int64_t r,
                                      absl::string_view rule) const {
    if (level.size() == 1 && level[0]->loop() != nullptr) return level[0]->loop();
    return Error(PlaceOfLevel(),
                 level.size() == 1
                     ? absl::StrCat(rule, " needs a loop at level ", r,
                                    ", but there is an assignment; the nest has ", r - 1,
                                    r == 2 ? " loop" : " loops")
                     : absl::StrCat(rule, " needs one loop at level ", r, ", but there are ",
                                    level.size(), " loops or assignments side by side"));
  }

  // (20)
  Result<LoopTrees> Stripmine(const LoopTrees& nest, int64_t r, int64_t v) {
    constexpr absl::string_view kRule = "stripmine (20)";
    if (v < 1 || v > kLargestPart) {
      return Error(context_.syntax->numbers.back().token, kRule, " makes parts of ", v,
                   "; write a number from 1 to 2^20");
    }
    if (DepthOf(nest) >= kMaxDepth) {
      return Error(context_.statement, "more than ", kMaxDepth, " nested loops");
    }
    return AtLevel(nest, r, kRule, [&](const LoopTrees& level) -> Result<LoopTrees> {
      MDH_ASSIGN_OR_RETURN(const CountedLoop* const loop, OnlyLoop(level, r, kRule));
      const int64_t points = MostPoints(*loop);
      const int64_t blocks = points / v + (points % v == 0 ? 0 : 1);
      CountedLoop inner = *loop, outer = *loop;
      outer.token = inner.token = context_.statement;
      inner.is_parallel = outer.is_vector = false;
      outer.iterator = context_.names->Fresh(OfBlocks(loop->iterator));
      outer.lower = IteratorIndex::Constant(0);
      outer.upper = {IteratorIndex::Constant(blocks - 1)};
      inner.lower = Sum(loop->lower, Scaled(IteratorIndex::Of(outer.iterator), v));
      const IteratorIndex last = Sum(inner.lower, IteratorIndex::Constant(v - 1));
      // Where all parts are whole, the old bound follows from the new one.
      const bool is_whole = loop->upper.size() == 1 && points % v == 0;
      if (is_whole) inner.upper.clear();
      inner.upper.insert(inner.upper.begin(), last);
      outer.body = {MakeLoop(std::move(inner))};
      return LoopTrees{MakeLoop(std::move(outer))};
    });
  }

  // The number of values of the loop's iterator, but for last parts.
  static int64_t MostPoints(const CountedLoop& loop) {
    int64_t most = -1;
    for (const IteratorIndex& upper : loop.upper) {
      const IteratorIndex span = Sum(upper, Scaled(loop.lower, -1));
      if (span.terms.empty()) most = most < 0 ? span.constant : std::min(most, span.constant);
    }
    return most + 1;
  }

  // (21)
  Result<LoopTrees> Interchange(const LoopTrees& nest, int64_t r1, int64_t r2) {
    constexpr absl::string_view kRule = "interchange (21)";
    const int64_t first = std::min(r1, r2), last = std::max(r1, r2);
    const int64_t depth = PerfectDepthOf(nest);
    if (first < 1 || last > depth) {
      return Error(PlaceOfLevel(), kRule, " needs loops at levels ", r1, " and ", r2,
                   ", but the nest is perfect for ", depth, depth == 1 ? " loop" : " loops",
                   "; levels count from 1, outermost");
    }
    return Reordered(nest, first, last, kRule, [](std::vector<CountedLoop>* loops) {
      std::swap(loops->front(), loops->back());
    });
  }

  // The loops at levels `first` to `last` of a perfect nest in another order.
  Result<LoopTrees> Reordered(const LoopTrees& nest, int64_t first, int64_t last,
                              absl::string_view rule,
                              const std::function<void(std::vector<CountedLoop>*)>& reorder) {
    return Below(nest, first - 1, [&](const LoopTrees& level) -> Result<LoopTrees> {
      std::vector<CountedLoop> loops;
      const LoopTrees* body = &level;
      for (int64_t n = first; n <= last; ++n) {
        loops.push_back(*(*body)[0]->loop());
        body = &(*body)[0]->loop()->body;
      }
      LoopTrees innermost = *body;
      reorder(&loops);
      MDH_RETURN_IF_ERROR(CheckOrder(loops, rule));
      for (size_t n = loops.size(); n-- > 0;) {
        loops[n].body = std::move(innermost);
        innermost = {MakeLoop(std::move(loops[n]))};
      }
      return innermost;
    });
  }

  // Bounds need only iterators of loops outside.
  Status CheckOrder(const std::vector<CountedLoop>& loops, absl::string_view rule) const {
    for (size_t n = 0; n < loops.size(); ++n) {
      std::vector<IteratorIndex> bounds = loops[n].upper;
      bounds.push_back(loops[n].lower);
      for (size_t inner = n + 1; inner < loops.size(); ++inner) {
        for (const IteratorIndex& bound : bounds) {
          for (const IteratorTerm& term : bound.terms) {
            if (term.iterator != loops[inner].iterator) continue;
            return Error(PlaceOfLevel(), rule, " would move the loop over '", loops[n].iterator,
                         "' out of the one over '", loops[inner].iterator,
                         "', which its range depends on");
          }
        }
      }
    }
    return absl::OkStatus();
  }

  // `body` with `from` called `to`; loops inside of it that are called so get other names.
  LoopTrees WithIterator(const LoopTrees& body, const std::string& from, const std::string& to) {
    if (from == to) return body;
    return Substituted(Avoiding(body, to), {{from, IteratorIndex::Of(to)}});
  }

  LoopTrees Avoiding(const LoopTrees& trees, const std::string& name) {
    LoopTrees result;
    for (const LoopTree& tree : trees) {
      if (tree->loop() == nullptr) {
        result.push_back(tree);
        continue;
      }
      CountedLoop loop = *tree->loop();
      loop.body = Avoiding(loop.body, name);
      if (loop.iterator == name) {
        loop.iterator = context_.names->Fresh(name + "_f");
        loop.body = Substituted(loop.body, {{name, IteratorIndex::Of(loop.iterator)}});
      }
      result.push_back(MakeLoop(std::move(loop)));
    }
    return result;
  }

  // (22)
  Result<LoopTrees> FuseOuter(const LoopTrees& first, const LoopTrees& second, int64_t r) {
    const int64_t depth = std::min(PerfectDepthOf(first), PerfectDepthOf(second));
    if (r < 1 || r > depth) {
      return Error(PlaceOfLevel(), "fuse_outer (22) needs ", r, " loops around both, but '",
                   context_.syntax->names[0].text, "' is perfect for ", PerfectDepthOf(first),
                   " and '", context_.syntax->names[1].text, "' for ", PerfectDepthOf(second));
    }
    MDH_RETURN_IF_ERROR(CheckSize(LeavesOf(first) + LeavesOf(second)));
    const std::set<int> both = AssignmentsOf(first);
    for (const int number : AssignmentsOf(second)) {
      if (both.count(number) == 0) continue;
      return Error(context_.statement, "fuse_outer (22) would compute an assignment twice, which '",
                   context_.syntax->names[0].text, "' and '", context_.syntax->names[1].text,
                   "' both have; fuse nests of different assignments");
    }
    return FusedOuter(first, second, r, 1);
  }

  Result<LoopTrees> FusedOuter(const LoopTrees& first, const LoopTrees& second, int64_t r,
                               int64_t level) {
    CountedLoop loop = *first[0]->loop();
    const CountedLoop& other = *second[0]->loop();
    if (!loop.HasRangeOf(other)) {
      return Error(context_.statement, "fuse_outer (22) needs the same ranges, but loop ", level,
                   " of '", context_.syntax->names[0].text, "' goes over ", RangeText(loop),
                   " and of '", context_.syntax->names[1].text, "' over ", RangeText(other));
    }
    loop.is_parallel = loop.is_parallel || other.is_parallel;
    loop.is_vector = loop.is_vector || other.is_vector;
    loop.token = context_.statement;
    LoopTrees body = WithIterator(other.body, other.iterator, loop.iterator);
    if (level < r) {
      MDH_ASSIGN_OR_RETURN(loop.body, FusedOuter(loop.body, body, r, level + 1));
    } else {
      loop.body.insert(loop.body.end(), body.begin(), body.end());
    }
    return LoopTrees{MakeLoop(std::move(loop))};
  }

  static std::string RangeText(const CountedLoop& loop) {
    std::string upper = ToText(loop.upper[0]);
    for (size_t n = 1; n < loop.upper.size(); ++n) {
      upper = absl::StrCat("min(", upper, ", ", ToText(loop.upper[n]), ")");
    }
    return absl::StrCat(ToText(loop.lower), "..", upper);
  }

  // (23)
  Result<LoopTrees> FuseInner(const LoopTrees& nest, int64_t r) {
    constexpr absl::string_view kRule = "fuse_inner (23)";
    return AtLevel(nest, r, kRule, [&](const LoopTrees& level) -> Result<LoopTrees> {
      if (level[0]->loop() == nullptr) {
        return Error(PlaceOfLevel(), kRule, " needs loops at level ", r,
                     ", but there is an assignment");
      }
      CountedLoop fused = *level[0]->loop();
      fused.token = context_.statement;
      for (size_t n = 1; n < level.size(); ++n) {
        const CountedLoop* const other = level[n]->loop();
        if (other == nullptr || !fused.HasRangeOf(*other)) {
          return Error(
              PlaceOfLevel(), kRule, " needs loops of one range at level ", r,
              ", but number 1 goes over ", RangeText(fused), " and number ", n + 1,
              other == nullptr ? " is an assignment" : absl::StrCat(" over ", RangeText(*other)));
        }
        fused.is_parallel = fused.is_parallel || other->is_parallel;
        fused.is_vector = fused.is_vector || other->is_vector;
        const LoopTrees body = WithIterator(other->body, other->iterator, fused.iterator);
        fused.body.insert(fused.body.end(), body.begin(), body.end());
      }
      return LoopTrees{MakeLoop(std::move(fused))};
    });
  }

  // (24), (25)
  Result<LoopTrees> Unroll(const LoopTrees& nest, int64_t r) {
    constexpr absl::string_view kRule = "unroll (25)";
    return AtLevel(nest, r, kRule, [&](const LoopTrees& level) -> Result<LoopTrees> {
      MDH_ASSIGN_OR_RETURN(const CountedLoop* const loop, OnlyLoop(level, r, kRule));
      const IteratorIndex span = Sum(loop->upper[0], Scaled(loop->lower, -1));
      if (loop->upper.size() > 1 || !span.terms.empty()) {
        return Error(PlaceOfLevel(), kRule, " needs a loop with a fixed number of points, but '",
                     loop->iterator, "' goes over ", RangeText(*loop),
                     "; let stripmine make parts that divide the loop");
      }
      const int64_t copies = span.constant + 1;
      if (copies > kMaxLeaves) return CheckSize(copies);
      MDH_RETURN_IF_ERROR(CheckSize(copies * std::max<int64_t>(1, LeavesOf(loop->body))));
      LoopTrees unrolled;
      for (int64_t j = 0; j < copies; ++j) {
        const IteratorIndex value = Sum(loop->lower, IteratorIndex::Constant(j));
        const LoopTrees copy = Substituted(loop->body, {{loop->iterator, value}});
        unrolled.insert(unrolled.end(), copy.begin(), copy.end());
      }
      return unrolled;
    });
  }

  Status CheckSize(int64_t leaves) const {
    if (leaves <= kMaxLeaves) return absl::OkStatus();
    return Error(context_.statement, "the loops would have ", leaves, " assignments; at most ",
                 kMaxLeaves, " are allowed");
  }

  // Section 3.3.3: the tree stays as it is.
  Result<LoopTrees> Flag(const LoopTrees& nest, int64_t r, bool CountedLoop::*flag,
                         absl::string_view name) {
    const std::string rule = absl::StrCat(name, " (3.3.3)");
    return AtLevel(nest, r, rule, [&](const LoopTrees& level) -> Result<LoopTrees> {
      MDH_ASSIGN_OR_RETURN(const CountedLoop* const loop, OnlyLoop(level, r, rule));
      CountedLoop flagged = *loop;
      flagged.*flag = true;
      flagged.token = context_.statement;
      return LoopTrees{MakeLoop(std::move(flagged))};
    });
  }

  // (27)
  Result<LoopTrees> StripmineN(LoopTrees nest, int64_t n, int64_t v) {
    if (n < 1 || n > PerfectDepthOf(nest)) {
      return Error(PlaceOfLevel(), "stripmine_n (27) needs ", n,
                   " nested loops, but the nest is perfect for ", PerfectDepthOf(nest),
                   "; n counts loops from 1");
    }
    for (int64_t loop = 1; loop <= n; ++loop) {
      MDH_ASSIGN_OR_RETURN(nest, Stripmine(nest, 2 * loop - 1, v));
    }
    return nest;
  }

  // (28)
  Result<LoopTrees> InterchangeN(const LoopTrees& nest, int64_t r, int64_t n) {
    if (r < 1 || n < 0 || r > PerfectDepthOf(nest) || n > PerfectDepthOf(nest) - r) {
      return Error(PlaceOfLevel(), "interchange_n (28) needs a loop at level ", r, " and ", n,
                   " inside of it, but the nest is perfect for ", PerfectDepthOf(nest), " loops");
    }
    // All these interchanges of neighbours at once.
    return Reordered(nest, r, r + n, "interchange_n (28)", [](std::vector<CountedLoop>* loops) {
      std::rotate(loops->begin(), loops->begin() + 1, loops->end());
    });
  }

  // (29)
  Result<LoopTrees> Tile(LoopTrees nest, int64_t v) {
    const int64_t d = PerfectDepthOf(nest);
    if (d == 0) return Error(context_.statement, "tile (29) needs a loop, but there is none");
    MDH_ASSIGN_OR_RETURN(nest, StripmineN(nest, d, v));
    for (int64_t k = 1; k <= d; ++k) {
      MDH_ASSIGN_OR_RETURN(nest, InterchangeN(nest, k + 1, 2 * d - (k + 1)));
    }
    return nest;
  }

  const TransformationContext& context_;
};

}  // namespace

LoopTrees BuildLoops(const AssignmentPointer& assignment) {
  LoopTrees nest = {MakeLeaf({assignment})};
  for (size_t n = assignment->iterators.size(); n-- > 0;) {
    const std::string& iterator = assignment->iterators[n];
    CountedLoop loop{iterator,
                     IteratorIndex::Constant(0),
                     {IteratorIndex::Constant(assignment->ranges.at(iterator) - 1)}};
    loop.token = assignment->token;
    loop.body = std::move(nest);
    nest = {MakeLoop(std::move(loop))};
  }
  return nest;
}

Result<LoopTrees> Transform(const TransformationContext& context,
                            const std::vector<LoopTrees>& loops) {
  return Transformation(context).Run(loops);
}

}  // namespace mdh

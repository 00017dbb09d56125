#include "codegen/passes/pass_overlap_copies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/passes/copy_ahead.h"
#include "codegen/passes/iterations.h"
#include "codegen/passes/kept_values.h"
#include "codegen/passes/pipelined_loop.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

// Times at which some copies begin: wherever loads come before them, compilers for some devices put
// instructions that do nothing between.
constexpr int64_t kMostPieces = 4;

// The copies of the pieces without branches around them, and with little to compute between points:
// sources are pointers that move on once per part, and places in arrays are found once per part.
class CopyStreams : public Rewriter {
 public:
  // `elements`: of the arrays, with all of their parts.
  CopyStreams(const For& loop, const PipelinedLoop& parts, const ThreadIndices& known,
              const std::map<std::string, int64_t>& elements, NameAllocator& names)
      : loop_(loop), parts_(parts), names_(names) {
    for (const std::string& array : parts.arrays) {
      if (MayFill(parts, array, elements.at(array), known)) filled_.insert(array);
    }
    for (const Block& given : parts.copies) {
      const Block piece = WithOwnNames(given, names);
      CollectDeclaredNames(piece, own_);
      pieces_.push_back(RewriteBlock(piece));
    }
  }

  const std::vector<Block>& pieces() const { return pieces_; }

  // In front of the loop.
  Block Before() const {
    Block block;
    for (const Source& source : sources_) {
      if (!source.step) continue;
      block.push_back(Declare(source, source.first.Replace(loop_.variable, loop_.begin)));
    }
    return block;
  }
  // Where an iteration begins, and where it ends.
  Block Begin() const {
    Block block;
    for (const Source& source : sources_) {
      if (!source.step) block.push_back(Declare(source, source.first));
    }
    for (const Target& target : targets_) {
      block.push_back({DeclarePointer{target.name, target.type.scalar, /*is_const=*/false,
                                      target.array, target.first, BytesOf(target.type)}});
    }
    return block;
  }
  Block End() const {
    Block block;
    for (const Source& source : sources_) {
      if (source.step) block.push_back({AdvancePointer{source.name, Index(*source.step)}});
    }
    return block;
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    const auto* branch = StatementAs<If>(statement);
    if (branch != nullptr && IsFilled(*branch)) {
      for (const Statement& inner : *branch->then_block) {
        Begin(*StatementAs<AsyncCopy>(inner), branch->all_of, out);
      }
      return;
    }
    const auto* copy = StatementAs<AsyncCopy>(statement);
    if (copy == nullptr) return Rewriter::RewriteStatement(statement, out);
    Begin(*copy, {}, out);
  }

 private:
  struct Source {  // a pointer
    std::string buffer;
    LoopValueType type;  // of what is copied at once
    Index first;
    std::optional<int64_t> step;  // from one iteration to the next; nullopt: it is found anew
    std::string name;
  };
  struct Target {  // a pointer into an array
    std::string array;
    LoopValueType type;
    Index first;
    std::string name;
  };

  // Zeros go where nothing is read of a part that does not exist, or of an element.
  void Begin(AsyncCopy copy, const std::vector<Condition>& guard, Block& out) {
    copy.all_of.insert(copy.all_of.begin(), guard.begin(), guard.end());
    copy.all_of.insert(copy.all_of.begin(), parts_.if_exists.begin(), parts_.if_exists.end());
    if (IsOfPart(copy.from)) Find(copy);
    if (IsOfPart(copy.to)) FindPlace(copy);
    out.push_back({std::move(copy)});
  }

  // A branch around copies of arrays where zeros may go instead.
  bool IsFilled(const If& branch) const {
    return branch.else_block == nullptr &&
           std::ranges::all_of(*branch.then_block, [&](const Statement& inner) {
             const auto* copy = StatementAs<AsyncCopy>(inner);
             return copy != nullptr && filled_.contains(copy->target);
           });
  }

  bool IsOfPart(const Index& index) const {
    bool is = true;
    index.VisitVariables([&](const std::string& name) { is &= !own_.contains(name); });
    return is;
  }

  void Find(AsyncCopy& copy) {
    for (const Source& source : sources_) {
      if (source.buffer != copy.source || source.type != copy.type) continue;
      const std::optional<int64_t> further = ConstantDifference(copy.from, source.first);
      if (!further) continue;
      copy.source = source.name;
      copy.from = Index(*further);
      return;
    }
    const Index next =
        copy.from.Replace(loop_.variable, Index::Variable(loop_.variable) + Index(loop_.step));
    sources_.push_back({copy.source, copy.type, copy.from, ConstantDifference(next, copy.from),
                        names_.Unique(copy.source + "_next")});
    copy.source = sources_.back().name;
    copy.from = Index(0);
  }

  void FindPlace(AsyncCopy& copy) {
    for (const Target& target : targets_) {
      if (target.array != copy.target || target.type != copy.type) continue;
      const std::optional<int64_t> further = ConstantDifference(copy.to, target.first);
      if (!further) continue;
      copy.target = target.name;
      copy.to = Index(*further);
      return;
    }
    targets_.push_back({copy.target, copy.type, copy.to, names_.Unique(copy.target + "_place")});
    copy.target = targets_.back().name;
    copy.to = Index(0);
  }

  static int BytesOf(const LoopValueType& type) { return SizeBytes(type.scalar) * type.lanes; }
  static Statement Declare(const Source& source, const Index& first) {
    return {DeclarePointer{source.name, source.type.scalar, /*is_const=*/true, source.buffer, first,
                           BytesOf(source.type)}};
  }

  const For& loop_;
  const PipelinedLoop& parts_;
  NameAllocator& names_;
  std::set<std::string> filled_;  // arrays, as MayFill says
  std::set<std::string> own_;     // names that a piece declares
  std::vector<Source> sources_;
  std::vector<Target> targets_;
  std::vector<Block> pieces_;
};

class Overlapper : public Rewriter {
 public:
  Overlapper(const Stage& stage, CopyOverlap overlap) : overlap_(overlap), known_(stage.launch) {
    ReserveNamesIn(stage.body, names_);
    for (const auto& [name, array] : ArraysIn(stage.body)) elements_[name] = array.elements;
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    known_.Add(statement);
    Rewriter::RewriteStatement(statement, out);
    const For* loop = StatementAs<For>(out.back());
    std::optional<PipelinedLoop> parts = loop == nullptr ? std::nullopt : TakeApart(*loop);
    if (!parts.has_value()) return;
    const For around = *loop;
    out.pop_back();
    // All threads wait for each other in it.
    known_.Set(around.variable, std::nullopt, /*is_uniform=*/true);
    const CopyStreams streams(around, *parts, known_, elements_, names_);
    Append(streams.Before(), &out);
    KeptValues values(*parts, names_);
    std::optional<Block> points;
    if (overlap_ == CopyOverlap::kValues) points = values.Points(kMostKeptValues);
    Append(points ? WithValues(around, *parts, streams, values, *points)
                  : WithCopies(around, *parts, streams),
           &out);
    // Of parts that do not exist.
    if (!parts->if_exists.empty()) out.push_back({WaitForCopies{0}});
  }

 private:
  // The iterations of the loop over k but the last one, with the copies among them: `points` has
  // the body of an iteration.
  static Block Spread(const PipelinedLoop& parts, const CopyStreams& streams, const Block& points) {
    const int64_t iterations = *KnownIterations(parts.points) - 1;
    const auto copies = static_cast<int64_t>(parts.copies.size());
    const int64_t pieces = std::max<int64_t>(1, std::min({iterations, copies, kMostPieces}));
    Block out = {{Comment{"Copies of a later part begin between these points."}}};
    for (int64_t n = 0; n < pieces; ++n) {
      const auto share = [&](int64_t of) {
        return std::pair(of * n / pieces, of * (n + 1) / pieces);
      };
      const auto [first, last] = share(iterations);
      For some = parts.points;
      some.begin = parts.points.begin + Index(first * some.step);
      some.end = parts.points.begin + Index(last * some.step);
      some.body = ShareBlock(points);
      out.push_back({std::move(some)});
      const auto [begin, end] = share(copies);
      for (int64_t c = begin; c < end; ++c) Append(streams.pieces()[c], &out);
    }
    return out;
  }

  // The last iteration.
  static Statement LastPoints(const PipelinedLoop& parts, const Block& points) {
    For last = parts.points;
    last.begin = last.begin + Index((*KnownIterations(last) - 1) * last.step);
    last.end = last.begin + Index(last.step);
    last.body = ShareBlock(points);
    return {std::move(last)};
  }

  static Block WithCopies(const For& loop, const PipelinedLoop& parts, const CopyStreams& streams) {
    Block body = {{parts.place}, {parts.wait}, {Barrier{}}};
    Append(streams.Begin(), &body);
    Append(parts.passive, &body);
    Append(Spread(parts, streams, *parts.points.body), &body);
    body.push_back(LastPoints(parts, *parts.points.body));
    body.push_back({CommitCopies{}});
    Append(streams.End(), &body);
    return {With(loop, std::move(body))};
  }

  static Block WithValues(const For& loop, const PipelinedLoop& parts, const CopyStreams& streams,
                          const KeptValues& values, const Block& points) {
    const std::string& k = parts.points.variable;
    // Where iteration `k` of the part has values, whose number among the parts is `part`.
    const auto at = [&](const Index& part, const Index& iteration) {
      const Index place = parts.place.value.Replace(loop.variable, part);
      return [&loop, &parts, &k, part, iteration, place](const Index& offset) {
        return offset.Replace([&](const std::string& name) -> std::optional<Index> {
          if (name == k) return iteration;
          if (name == parts.place.name) return place;
          if (name == loop.variable) return part;
          return std::nullopt;
        });
      };
    };
    const auto next_iteration = [&](const Index& offset) {
      return offset.Replace(k, Index::Variable(k) + Index(parts.points.step));
    };
    const Index v = Index::Variable(loop.variable);
    const int64_t reach = loop.whole_steps ? loop.step : 1;  // of an iteration, that is to exist
    Block out = values.Declare();
    out.push_back({parts.wait});
    out.push_back({Barrier{}});
    Block first = values.Load(/*is_next=*/false, at(loop.begin, parts.points.begin));
    if (!KnownIterations(loop).has_value()) {
      first = {When({Less(loop.begin + Index(reach - 1), loop.end)}, std::move(first))};
    }
    Append(std::move(first), &out);
    Block inner = values.Load(/*is_next=*/true, next_iteration);
    Append(points, &inner);
    Append(values.Advance(), &inner);
    Block body = {{parts.place}};
    Append(streams.Begin(), &body);
    Append(parts.passive, &body);
    Append(Spread(parts, streams, inner), &body);
    body.push_back({CommitCopies{}});
    body.push_back({parts.wait});
    body.push_back({Barrier{}});
    body.push_back(
        {Comment{"The first values of the next part, before the last points of this one."}});
    // Behind the last part, it once more.
    const Index next = Min(v + Index(loop.step), loop.end - Index(reach));
    Append(values.Load(/*is_next=*/true, at(next, parts.points.begin)), &body);
    body.push_back(LastPoints(parts, points));
    Append(values.Advance(), &body);
    Append(streams.End(), &body);
    out.push_back(With(loop, std::move(body)));
    return out;
  }

  static Statement With(For loop, Block body) {
    loop.body = ShareBlock(std::move(body));
    return {std::move(loop)};
  }

  const CopyOverlap overlap_;
  ThreadIndices known_;
  std::map<std::string, int64_t> elements_;  // of arrays
  NameAllocator names_;
};

}  // namespace

LoopProgram OverlapCopies(LoopProgram program, CopyOverlap overlap) {
  if (overlap == CopyOverlap::kNone) return program;
  for (Stage& stage : program.stages) {
    stage.body = Overlapper(stage, overlap).RewriteBlock(stage.body);
  }
  return program;
}

}  // namespace mdh

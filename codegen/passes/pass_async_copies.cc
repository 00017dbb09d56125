#include "codegen/passes/pass_async_copies.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/passes/copy_ahead.h"
#include "codegen/passes/copy_loop.h"
#include "codegen/passes/iterations.h"

namespace mdh {
namespace {

constexpr int64_t kFewestBytes = 4, kMostBytes = 16;  // of one copy; powers of two between them

bool CanMove(int64_t bytes) {
  return bytes >= kFewestBytes && bytes <= kMostBytes && (bytes & (bytes - 1)) == 0;
}

// Makes the stores of a region asynchronous copies.
class Beginner : public Rewriter {
 public:
  // `offset` is added to the places in the array; `declared`: names that are no memory of the
  // device.
  Beginner(const CopyRegion& region, ScalarType type, Index offset,
           const std::set<std::string>& declared, const std::string& lane_prefix)
      : region_(region),
        type_(type),
        offset_(std::move(offset)),
        declared_(declared),
        lane_prefix_(lane_prefix) {}

  // nullopt if one of them cannot be one.
  std::optional<Block> Make() {
    Block block = RewriteBlock(*region_.body);
    if (has_failed_) return std::nullopt;
    return block;
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    if (const auto* index = std::get_if<DeclareIndex>(&statement.form)) {
      definitions_.insert_or_assign(index->name, index->value);
    } else if (const auto* store = std::get_if<StoreElements>(&statement.form)) {
      return MakeSingle(*store, out);
    } else if (const auto* loop = std::get_if<For>(&statement.form)) {
      definitions_.erase(loop->variable);
      if (absl::StartsWith(loop->variable, lane_prefix_) && MakeLanes(*loop, out)) return;
    } else {
      has_failed_ |= !std::holds_alternative<If>(statement.form) && !IsPassive(statement);
    }
    Rewriter::RewriteStatement(statement, out);
  }

 private:
  bool CanCopy(const std::string& target, const std::string& source, ScalarType type,
               int64_t lanes) const {
    return target == region_.array && type == type_ && !declared_.contains(source) &&
           CanMove(SizeBytes(type) * lanes);
  }

  void MakeSingle(const StoreElements& store, Block& out) {
    const LoopValueType type = store.value->type;
    AsyncCopy copy{store.pointer, store.offset + offset_, "", Index(0), type};
    if (const auto* load = std::get_if<LoadElements>(&store.value->form)) {
      copy.source = load->pointer;
      copy.from = load->offset;
    } else if (const auto* inside = std::get_if<LoadInside>(&store.value->form)) {
      has_failed_ |= !IsZeroOutside(*inside);
      copy.source = inside->pointer;
      copy.from = PlaceOf(*inside);
      copy.all_of = InsideConditions(*inside);
    } else {
      has_failed_ = true;
    }
    has_failed_ |= type.lanes != 1 || !CanCopy(copy.target, copy.source, type.scalar, 1);
    if (!has_failed_) out.push_back({std::move(copy)});
  }

  // Whether copies that leave nothing but zeros where there is no source are the same.
  static bool IsZeroOutside(const LoadInside& load) {
    return load.outside.has_value() && *load.outside == ScalarValue::Zero(load.outside->type());
  }

  bool MakeLanes(const For& loop, Block& out) const {
    const std::optional<CopyLoop> copy = CopyLoopOf(loop);
    if (!copy.has_value() || copy->stride != 1 || copy->adds) return false;
    const int64_t lanes = copy->iterations;
    const Index to = copy->to + offset_;
    if (!CanCopy(copy->target, copy->source, copy->type, lanes)) return false;
    if (!IsMultiple(to, lanes, definitions_)) return false;
    if (copy->inside.has_value() && !IsZeroOutside(*copy->inside)) return false;
    out.push_back({AsyncCopy{
        copy->target,
        to,
        copy->source,
        copy->from,
        {copy->type, static_cast<int>(lanes)},
        copy->inside.has_value() ? InsideConditions(*copy->inside) : std::vector<Condition>()}});
    return true;
  }

  const CopyRegion& region_;
  const ScalarType type_;  // of the array
  const Index offset_;
  const std::set<std::string>& declared_;
  const std::string& lane_prefix_;
  std::map<std::string, Index> definitions_;  // of index variables
  bool has_failed_ = false;
};

class Pipeliner : public LoopPipeliner {
 public:
  Pipeliner(const Block& body, const AsyncCopyOptions& options)
      : LoopPipeliner(body), options_(options) {
    CollectDeclaredNames(body, declared_);
  }

 protected:
  Block Pipelined(const For& loop) override {
    const Pipeline pipeline = PipelineOf(loop);
    return pipeline.copies.empty() ? Block() : Around(loop, pipeline);
  }

 private:
  // The statements that begin the copies of a part, by array: in terms of the loop's variable and
  // of `place`, which is where in the array the part goes.
  struct Pipeline {
    std::string place;
    std::map<std::string, Block> copies;
    int64_t stages = 0;
  };

  Pipeline PipelineOf(const For& loop) {
    const std::optional<int64_t> iterations = KnownIterations(loop);
    if (loop.unroll || iterations.value_or(2) < 2 || !HasTwoBarriers(*loop.body)) return {};
    std::vector<CopyRegion> regions;
    for (const Statement& statement : *loop.body) {
      const auto* region = std::get_if<CopyRegion>(&statement.form);
      if (region == nullptr || !region->is_asynchronous || region->stages < 2) continue;
      std::optional<CopyRegion> ahead = CopyAhead(*region, loop, body_, arrays_);
      if (ahead.has_value()) regions.push_back(*std::move(ahead));
    }
    if (regions.empty()) return {};
    Pipeline pipeline{names_.Unique(loop.variable + "_place"), {}, iterations.value_or(INT64_MAX)};
    for (const CopyRegion& region : regions) {
      const DeclareArray& array = arrays_.at(region.array);
      std::optional<Block> copies =
          Beginner(region, array.type, Index::Variable(pipeline.place) * array.elements, declared_,
                   options_.lane_prefix)
              .Make();
      if (!copies.has_value()) continue;
      pipeline.copies.emplace(region.array, *std::move(copies));
      pipeline.stages = std::min<int64_t>(pipeline.stages, region.stages);
    }
    return pipeline;
  }

  // One in front of the computation, and one at the end.
  static bool HasTwoBarriers(const Block& body) {
    const auto is_barrier = [](const Statement& statement) {
      return std::holds_alternative<Barrier>(statement.form);
    };
    return std::ranges::count_if(body, is_barrier) >= 2 && is_barrier(body.back());
  }

  // The loop and what is in front of it.
  Block Around(const For& loop, const Pipeline& pipeline) {
    Block out;
    const int64_t ahead = pipeline.stages - 1;
    const std::string first = names_.Unique(loop.variable + "_first");
    out.push_back(
        {Comment{absl::StrCat("Begin the copies for the first ", ahead, " ", loop.variable, ".")}});
    Block begin = BeginPart(loop, pipeline, loop.begin + Index::Variable(first) * loop.step,
                            Index::Variable(first), /*exists=*/KnownIterations(loop).has_value());
    out.push_back({For{first, Index(0), Index(ahead), 1, false,
                       std::make_shared<const Block>(std::move(begin))}});
    Block body = LoopBody(loop, pipeline);
    const bool ends_with_barrier = std::holds_alternative<Barrier>(body.back().form);
    out.push_back({For{loop.variable, loop.begin, loop.end, loop.step, loop.whole_steps,
                       std::make_shared<const Block>(std::move(body)), loop.unroll}});
    if (!ends_with_barrier) out.push_back({Barrier{}});
    return out;
  }

  // The copies for one value of the loop's variable as a group, an empty one if there is no such
  // part.
  Block BeginPart(const For& loop, const Pipeline& pipeline, const Index& at, const Index& place,
                  bool exists) {
    Block copies;
    for (const auto& entry : pipeline.copies) {
      const Block own = WithOwnNames(entry.second, names_);
      // The loop's variable first: the place is one of the part at hand.
      const Block placed = AtPart(AtPart(own, loop.variable, at), pipeline.place, place);
      copies.insert(copies.end(), placed.begin(), placed.end());
    }
    if (!exists) {
      const Index last = loop.whole_steps ? at + Index(loop.step - 1) : at;
      copies = {When({Less(last, loop.end)}, std::move(copies))};
    }
    copies.push_back({CommitCopies{}});
    return copies;
  }

  Block LoopBody(const For& loop, const Pipeline& pipeline) {
    const Index v = Index::Variable(loop.variable);
    const Index number = (v - loop.begin) / loop.step;
    const int64_t stages = pipeline.stages, distance = (stages - 1) * loop.step;
    std::set<std::string> regions;
    std::map<std::string, int64_t> elements;
    for (const auto& entry : pipeline.copies) {
      regions.insert(entry.first);
      elements[entry.first] = arrays_.at(entry.first).elements;
      parts_[entry.first] = std::max(parts_[entry.first], stages);
    }
    const auto barrier = std::ranges::find_if(*loop.body, [](const Statement& statement) {
      return std::holds_alternative<Barrier>(statement.form);
    });
    // What is not yet behind a barrier, with that barrier.
    const Block before = WithoutRegions(Block(loop.body->begin(), barrier + 1), regions);
    const Block behind = WithoutRegions(Block(barrier + 1, loop.body->end()), regions);
    Block body = {{DeclareIndex{pipeline.place, number % stages}}};
    body.insert(body.end(), before.begin(), before.end());
    body.push_back({WaitForCopies{static_cast<int>(stages - 2)}});
    body.push_back({Barrier{}});
    body.push_back({Comment{absl::StrCat("Begin the copies for ", loop.variable, " + ", distance,
                                         " while this one is computed.")}});
    const Block next = BeginPart(loop, pipeline, v + Index(distance),
                                 (number + Index(stages - 1)) % stages, /*exists=*/false);
    body.insert(body.end(), next.begin(), next.end());
    const Index place = Index::Variable(pipeline.place);
    const Block computation = PartSelector(elements, place).RewriteBlock(behind);
    body.insert(body.end(), computation.begin(), computation.end());
    if (!std::ranges::all_of(before, IsPassive)) body.push_back({Barrier{}});
    return body;
  }

  const AsyncCopyOptions& options_;
  std::set<std::string> declared_;
};

}  // namespace

LoopProgram MakeAsyncCopies(LoopProgram program, const AsyncCopyOptions& options) {
  for (Stage& stage : program.stages) stage.body = Pipeliner(stage.body, options).Rewrite();
  return program;
}

}  // namespace mdh

#include "codegen/lower/nest_program.h"

#include <algorithm>

#include "codegen/lower/finish/combine_slots.h"
#include "codegen/lower/finish/finish_results.h"
#include "codegen/lower/finish/zero_results.h"
#include "codegen/lower/keyed/keyed_program.h"
#include "codegen/lower/levels/hardware_parts.h"
#include "codegen/lower/levels/nest_context.h"
#include "codegen/lower/levels/nest_loads.h"
#include "codegen/lower/levels/nest_results.h"
#include "codegen/lower/levels/overlapping_parts.h"
#include "codegen/lower/nest_phases.h"
#include "codegen/lower/scan/scan_in_registers.h"
#include "codegen/lower/units/unit_program.h"
#include "codegen/lower/walk/level_walk.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/presence.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/expression/dependences.h"
#include "core/pipeline/factor_order.h"

namespace mdh {
namespace {

// The most items that threads share in the block or below; 1: one thread does everything.
int64_t SharedItems(const Block& block) {
  int64_t items = 1;
  for (const Statement& statement : block) {
    if (const auto* loop = std::get_if<ShareLoop>(&statement.form)) {
      items = std::max(items, loop->items);
    } else if (const auto* plain = std::get_if<For>(&statement.form)) {
      items = std::max(items, SharedItems(*plain->body));
    } else if (const auto* branch = std::get_if<If>(&statement.form)) {
      items = std::max(items, SharedItems(*branch->then_block));
    }
  }
  return items;
}

constexpr int64_t kUsualThreads = 1024;  // of a block at most, where a device does not say

// Level by level: every level is the number of a core's part, or a loop over numbers of parts.
class NestProgramBuilder : public LevelWalk {
 public:
  NestProgramBuilder(const LowLevelExpression& low_level, NestPlan plan,
                     const DeviceDescription& device, StoredResults stored,
                     const std::optional<ExchangeablePair>& mirror)
      : LevelWalk(low_level.shape()),
        context_(low_level, std::move(plan), device.features),
        scan_(context_.has_blocks()
                  ? ScanOf({expression(), device, LoweringTarget::kBlocks}, low_level.parameters())
                  : ScanParameters()),
        loads_(context_),
        results_(context_),
        place_(shape().AccumulatorPlace()),
        most_threads_(device.blocks.max_threads_per_block > 0 ? device.blocks.max_threads_per_block
                                                              : kUsualThreads),
        function_(FunctionInTile(expression(), context_.numerics(), shape().AccumulatorTile())) {
    if (context_.has_blocks() && !results_.stores_directly()) loads_.ReadBeyond();
    const bool stores_plainly = results_.stores_once() && expression().store() == nullptr;
    if (mirror.has_value() && stores_plainly && MayBranch()) context_.MirrorResults(*mirror);
    const bool may_overlap = stored == StoredResults::kFinal && results_.may_have_twice();
    if (!context_.has_blocks() || !may_overlap) return;
    for (const int n : OverlappingParts(shape())) context_.OverlapParts(n);
  }

 private:
  // ---- Blocks and threads ----

  void Prepare() override {
    if (results_.adds_atomically()) program_.stages.push_back(ZeroStage());
    if (!results_.has_last_block()) return;
    program_.scratch = results_.Scratch();
    program_.stages.push_back(ZeroCountersStage());
  }
  bool Computes() const override { return !Scans() || !ScansEvaluate(expression()); }
  Block Views() override { return context_.views().Declarations(); }

  // Without blocks, threads share the parts of the core layer.
  Stage Distribute(Block part) override {
    if (!context_.has_blocks()) return LevelWalk::Distribute(std::move(part));
    Stage stage{"Every block computes its part.", {}, {shape().Grid(), shape().Block()}};
    stage.resident_blocks = context_.low_level().parameters().resident_blocks;
    if (results_.has_clusters()) stage.cluster = shape().Cluster();
    loads_.DeclareShared(&stage.body);
    results_.DeclareShared(&stage.body);
    Append(std::move(part), &stage.body);
    return stage;
  }

  void DeclareParts(Block* block) override {
    if (context_.has_blocks()) {
      Append(DeclareHardwareParts(context_, NeedsThreadNumber()), block);
      return context_.DeclareFirstPoints(block);
    }
    std::vector<int> places = CorePlaces();
    std::ranges::reverse(places);
    context_.DeclareParts(places, Index::Variable("part"), block);
  }

  void DeclareSlots(Block* block) override { results_.DeclareSlots(block); }

  bool HasSharedCopies() const {
    const std::vector<NestCopy>& copies = context_.plan().copies;
    return std::ranges::any_of(copies, &NestCopy::is_shared);
  }

  bool NeedsThreadNumber() const {
    return shape().AccumulatesInSharedMemory() || results_.cooperates() || HasSharedCopies();
  }

  // ---- Whole parts and the partial ones at the end of dimensions ----

  // Whether parts of the level are whole, except for the last one of the dimension.
  bool CutsDimension(int n) const {
    const NestShape::Level& level = context_.level(n);
    const int d = level.level.dimension;
    if (level.parts == 1 || !context_.IsGuarded(d) || level.tile == 1) return false;
    for (int m = 0; m < context_.count(); ++m) {
      const NestShape::Level& other = context_.level(m);
      if (other.level.dimension == d && other.tile > level.tile && other.parts > 1) return false;
    }
    return true;
  }

  // Whether so are those of a block's loop over a reduction that blocks share, for every block.
  bool CutsShare(int n) const {
    const NestShape::Level& level = context_.level(n);
    const int d = level.level.dimension;
    if (!context_.has_blocks() || !MayBranch() || !expression().is_reduction(d)) return false;
    if (!HasLoop(n) || IsUnrolled(n) || !context_.IsGuarded(d) || level.tile == 1) return false;
    int64_t first = 0;  // point of the last block's
    for (int m = 0; m < context_.count(); ++m) {
      const NestShape::Level& other = context_.level(m);
      if (other.level.dimension != d || other.tile <= level.tile || other.parts == 1) continue;
      if (!shape().is_core(m)) return false;
      first += other.tile * (other.parts - 1);
    }
    return first > 0 && first < context_.size(d);
  }

  bool HasCutShare(int d) const {
    for (int n = 0; n < context_.count(); ++n) {
      if (context_.level(n).level.dimension == d && CutsShare(n)) return true;
    }
    return false;
  }

  // Number of whole parts: those before it are whole, in terms of the parts at hand around them.
  Index WholeParts(int n) const {
    const NestShape::Level& level = context_.level(n);
    const int d = level.level.dimension;
    const Index first = context_.Sum([&](int m) {
      const NestShape::Level& other = context_.level(m);
      return other.level.dimension == d && other.tile > level.tile ? other.tile : 0;
    });
    return (Index(context_.size(d)) - first) / level.tile;
  }

  bool HasBarriers() const {
    return context_.threads() > 1 &&
           (shape().SharedReductionThreads() > 1 || results_.cooperates() || HasSharedCopies());
  }

  bool MayBranch() const { return !HasBarriers() || context_.features().branches_around_barriers; }

  // Blocks all of whose results others store have nothing to do.
  void EmitPart(Block* block) override {
    if (!context_.mirror().has_value()) return EmitWholeOrPartial(block);
    Block kept, others;
    EmitWholeOrPartial(&kept);
    const bool awaits = results_.adds_atomically() || results_.has_last_block();
    if (awaits) others.push_back({AwaitStages{}});
    block->push_back({Comment{"Some results of the block are on or below the diagonal."}});
    block->push_back({If{{context_.BlockIsKept()},
                         ShareBlock(std::move(kept)),
                         awaits ? ShareBlock(std::move(others)) : nullptr}});
  }

  // Blocks whose parts are whole run without guards, unless these are so few that a second version
  // of the code would only make it longer to fetch.
  void EmitWholeOrPartial(Block* block) {
    std::vector<int> cut;
    for (int n = 0; n < context_.count(); ++n) {
      const int d = context_.level(n).level.dimension;
      if (!shape().is_core(n) || !CutsDimension(n)) continue;
      if (HasCutShare(d)) continue;
      const bool is_cheap = loads_.HardlyDependsOn(d) && !loads_.ReadsInPlace(d);
      if (!MayBeBeyond(d) || !is_cheap) cut.push_back(n);
    }
    if (cut.empty() || !MayBranch()) return EmitLevel(0, block);
    std::vector<Condition> conditions;
    for (const int n : cut) {
      conditions.push_back(Less(context_.Part(n), WholeParts(n)));
      context_.set_whole(context_.level(n).level.dimension, true);
    }
    Block whole, partial;
    whole.push_back({Comment{"All points of the block's part exist."}});
    EmitLevel(0, &whole);
    for (const int n : cut) context_.set_whole(context_.level(n).level.dimension, false);
    partial.push_back({Comment{"Some points of the block's part do not exist."}});
    EmitLevel(0, &partial);
    block->push_back(
        {If{conditions, ShareBlock(std::move(whole)), ShareBlock(std::move(partial))}});
  }

  // ---- Levels ----

  bool IsInLoop(int n) const {
    for (int m = 0; m < n; ++m) {
      if (context_.is_sequential(m)) return true;
    }
    return false;
  }

  // Whether threads wait for each other around what they have copied together.
  bool Waits(int n) const { return context_.threads() > 1 && loads_.HasCopies(n, /*shared=*/true); }

  void Enter(int n, Block* block) override {
    loads_.EmitCopies(n, /*shared=*/true, block);
    if (Waits(n)) block->push_back({Barrier{}});
    loads_.EmitCopies(n, /*shared=*/false, block);
    if (n == place_) results_.Begin(block);
  }

  void Leave(int n, Block* block) override {
    if (n == place_) results_.End(block);
    if (Waits(n) && IsInLoop(n)) block->push_back({Barrier{}});
  }

  bool HasLoop(int n) const override { return context_.is_sequential(n); }
  bool IsUnrolled(int n) const {
    return context_.unrolls() && context_.level(n).role == LayerRole::kRegisters;
  }

  // Whether the loop can stop at the end of the dimension, in place of guards inside: single points
  // of a reduction, no array that registers hold is indexed by it, and no barrier is inside.
  bool EndsWithDimension(int n) const {
    const NestShape::Level& level = context_.level(n);
    const int d = level.level.dimension;
    if (level.tile != 1 || !context_.IsGuarded(d) || !expression().is_reduction(d)) return false;
    for (int m = n + 1; m < context_.count(); ++m) {  // the end does not depend on loops inside
      if (context_.is_sequential(m) && context_.level(m).level.dimension == d) return false;
    }
    for (const NestCopy& copy : context_.plan().copies) {
      if (copy.is_shared ? copy.place > n : copy.place <= n) return false;
    }
    return place_ <= n;
  }

  void EmitLoop(int n, Block* block) override {
    const int d = context_.level(n).level.dimension;
    const bool is_unrolled = IsUnrolled(n);
    Index end(context_.level(n).parts);
    Block body, rest;
    std::vector<Condition> has_rest;  // for some blocks
    if (!is_unrolled && EndsWithDimension(n)) {
      end = Min(end, Index(context_.size(d)) - context_.Sum([&](int m) {
        return context_.level(m).level.dimension == d && m != n ? context_.level(m).tile : 0;
      }));
      context_.set_whole(d, true);
      EmitLevel(n + 1, &body);
      context_.set_whole(d, false);
    } else if (is_unrolled || !(CutsDimension(n) || CutsShare(n))) {
      EmitLevel(n + 1, &body);
    } else {
      const Index whole = WholeParts(n);
      if (CutsShare(n)) has_rest.push_back(Less(whole, end));
      end = Min(end, whole);
      EmitLevel(n + 1, &rest);
      rest = ReplaceVariables(rest, [&](const std::string& name) {
        return name == context_.variable(n) ? std::optional(whole) : std::nullopt;
      });
      context_.set_whole(d, true);
      EmitLevel(n + 1, &body);
      context_.set_whole(d, false);
    }
    block->push_back({Comment{context_.Describe(n)}});
    block->push_back({For{context_.variable(n), Index(0), end, 1, false,
                          ShareBlock(std::move(body)), is_unrolled}});
    if (rest.empty()) return;
    block->push_back({Comment{"The last part, of which some points do not exist."}});
    block->push_back(When(std::move(has_rest), std::move(rest)));
  }

  // Whether points outside of dimension d may be computed like others: they have accumulators of
  // their own, which nobody stores, and read some element (NestLoads::ReadBeyond). Saves branches.
  bool MayBeBeyond(int d) const {
    return context_.has_blocks() && !expression().is_reduction(d) && !results_.stores_directly();
  }

  void EmitInnermost(Block* block) override {
    Block body;
    std::vector<LoopValue> values = EmitFunction(
        function_, [&](int p) { return loads_.Load(p); }, context_.names(), body);
    results_.Accumulate(std::move(values), &body);
    std::vector<Condition> guards;
    for (int d = 0; d < expression().rank(); ++d) {
      if (!MayBeBeyond(d)) context_.AppendGuard(d, &guards);
    }
    if (guards.empty()) return Append(std::move(body), block);
    block->push_back(When(guards, std::move(body)));
  }

  // ---- Stages before and after ----

  // Blocks of threads for a stage whose threads share items.
  void LaunchFor(int64_t items, Stage* stage) const {
    if (items == 1) {  // one thread of one block
      stage->body = ReplaceVariables(stage->body, [](const std::string& name) {
        return name == "thread" ? std::optional<Index>(0) : std::nullopt;
      });
      return;
    }
    stage->launch = LaunchForItems(items);
  }

  Stage ZeroStage() const {
    Stage stage{"Zero, to which blocks add their results.", {}};
    Append(ZeroResults(expression(), results_.targets()), &stage.body);
    LaunchFor(SharedItems(stage.body), &stage);
    return stage;
  }

  Stage ZeroCountersStage() const {
    Stage stage{"Zero, from which blocks count that are done with results.", {}};
    const int64_t counters = results_.counter_count();
    const LoopValue zero = MakeLiteral(ScalarValue::Zero(ScalarType::kInt32));
    const Index at = counters == 1 ? Index(0) : Index::Variable("counter");
    Block body;
    body.push_back({StoreElements{results_.counters(), at, zero, 1}});
    if (counters > 1) {
      Block loop;
      loop.push_back({ShareLoop{"counter", counters, ShareBlock(std::move(body))}});
      body = std::move(loop);
    }
    stage.body = std::move(body);
    LaunchFor(counters, &stage);
    return stage;
  }

  bool Scans() const { return scan_.threads > 0; }

  bool UsesArrays() const override { return results_.uses_arrays(); }
  ResultArrays Arrays() override {
    return {.index_names = context_.index_names(),
            .arrays = results_.targets(),
            .outputs = OutputTargets(expression(), context_.output_names(), context_.views()),
            .store = context_.StorePointers()};
  }

  void Finish(const ResultArrays& arrays) override {
    if (!Scans() || ScansUseArrays(expression())) {
      AppendResultArrays(expression(), arrays.arrays, arrays.slots, &program_);
    }
    ResultArrays combined = arrays;
    // Other policies say in which order slots are combined.
    combined.is_combined =
        context_.has_blocks() && arrays.slots > 1 && Reassociates(context_.numerics());
    if (combined.is_combined)
      program_.stages.push_back(CombineSlotsInBlocks(context_.sums(), arrays, most_threads_));
    const size_t first = program_.stages.size();
    if (Scans()) {
      AppendRegisterScans(context_, scan_, combined, &program_);
    } else {
      AppendFinishingStages(context_.sums(), combined, &program_);
    }
    for (size_t s = first; s < program_.stages.size(); ++s) {
      Stage& stage = program_.stages[s];
      if (context_.has_blocks() && stage.launch == LaunchGeometry{}) {
        LaunchFor(SharedItems(stage.body), &stage);
      }
    }
  }

  NestContext context_;
  const ScanParameters scan_;  // without threads: prefix sums are not those of blocks
  NestLoads loads_;
  NestResults results_;
  const int place_;
  const int64_t most_threads_;     // of a block
  const ScalarFunction function_;  // f, with products as they are best shared
};

Result<LoopProgram> BuildNest(const LowLevelExpression& low_level, const DeviceDescription& device,
                              StoredResults stored, const std::optional<ExchangeablePair>& mirror) {
  NestPlan plan = OptimizedNestPlan(low_level);
  if (plan.nests.size() > 1) return BuildSeparatePhases(low_level, device);
  if (HasSeparateCopies(low_level.shape())) {
    const Expression separate = WithSeparateAccesses(low_level.expression());
    return BuildNest(LowerUnchecked(separate, low_level.model(),
                                    WithSeparateAccesses(low_level.parameters(), separate)),
                     device, stored, mirror);
  }
  if (low_level.shape().NeedsPresence()) {
    return BuildNest(WithPresence(low_level), device, stored, mirror);
  }
  return NestProgramBuilder(low_level, std::move(plan), device, stored, mirror).Build();
}

}  // namespace

std::optional<ExchangeablePair> MirrorOf(const LowLevelExpression& low_level,
                                         StoredResults stored) {
  if (!low_level.parameters().mirrors || stored != StoredResults::kFinal) return std::nullopt;
  return FirstExchangeablePair(low_level.expression());
}

Result<LoopProgram> BuildNestProgram(const LowLevelExpression& low_level,
                                     const DeviceDescription& device, StoredResults stored) {
  for (const LowLevelOperator& op : low_level.operators()) {
    const AsmLayer& layer = low_level.model().layers[op.assigned[0].layer];
    if (layer.role == LayerRole::kDevices && op.parts > 1) {
      return Unimplemented("no backend runs on several devices: level (", op.level.layer + 1, ",",
                           op.level.dimension + 1, ") has ", op.parts, " parts on ", layer.name);
    }
  }
  if (low_level.parameters().keyed.threads > 0) return BuildKeyedProgram(low_level, device);
  if (low_level.parameters().unit.rows > 0) return BuildUnitProgram(low_level);
  return BuildNest(low_level, device, stored, MirrorOf(low_level, stored));
}

}  // namespace mdh

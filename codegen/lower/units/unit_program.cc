#include "codegen/lower/units/unit_program.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/units/unit_arrivals.h"
#include "codegen/lower/units/unit_copies.h"
#include "codegen/lower/units/unit_results.h"
#include "codegen/lower/units/warp_unit.h"
#include "core/decomposition/unit_use.h"

namespace mdh {
namespace {

class UnitProgramBuilder {
 public:
  UnitProgramBuilder(const LowLevelExpression& low_level, UnitPlan plan)
      : context_(low_level, std::move(plan)),
        a_(context_, /*is_a=*/true),
        b_(context_, /*is_a=*/false, &a_),
        arrivals_(context_, a_, b_),
        results_(context_) {
    for (std::string* name : {&stage_, &ahead_, &slot_, &next_slot_, &operand_a_, &operand_b_}) {
      *name = context_.names().Unique(*name);
    }
    if (unit().turns > 1) turn_ = context_.names().Unique("turn");
    if (context_.plan().promoted_stages() > 0) totals_ = context_.names().Unique("totals");
  }

  LoopProgram Build() {
    LoopProgram program;
    AppendPacking({&a_, &b_}, &program);
    program.stages.push_back(Compute());
    results_.AppendStages(&program);
    DeclareUsed(context_.views().Declarations(), &program);
    return program;
  }

 private:
  const UnitParameters& unit() const { return context_.unit(); }
  const UnitPlan& plan() const { return context_.plan(); }
  // Sums of a group: so many tiles along m from number `first_tile` on, of them so many columns.
  struct Part {
    int64_t first_tile, tiles, first_column, columns;
  };
  bool has_group() const { return unit().producer == UnitProducer::kGroup; }
  int64_t group_tiles() const { return unit().rows / kUnitRows / unit().groups; }
  Part All() const { return {0, group_tiles(), 0, unit().columns}; }
  // Halves of the tiles or, of an odd number of these, of the columns; groups that need not meet
  // have something to multiply for while others add up.
  bool HasHalves() const {
    return !unit().has_producer() && (group_tiles() % 2 == 0 || unit().columns % 32 == 0);
  }
  Part Half(int64_t number) const {
    const int64_t tiles = group_tiles(), columns = unit().columns;
    if (tiles % 2 == 0) return {number * tiles / 2, tiles / 2, 0, columns};
    return {0, tiles, number * columns / 2, columns / 2};
  }

  Stage Compute() {
    Stage stage{"Every block computes a tile of results on matrix units.", {}};
    stage.launch = {{plan().launched(unit()), 1, 1}, {unit().launched_threads(), 1, 1}};
    stage.cluster = {plan().sharers * unit().cluster(), 1, 1};
    stage.resident_blocks = has_group() ? 1 : context_.parameters().resident_blocks;
    Block body;
    for (const UnitCopies* copies : {&a_, &b_}) {
      copies->DeclareShared(copies == &Larger() ? UnitRoomBytes(unit(), plan()) : 0, &body);
    }
    context_.DeclareThread(&body);
    arrivals_.Declare(&body);
    if (unit().has_producer()) {
      EmitRoles(&body);
    } else if (unit().turns > 1) {
      EmitTiles(&body);
    } else {
      EmitTile(&body);
    }
    stage.body = std::move(body);
    return stage;
  }

  // The tile with the number of the block.
  void EmitTile(Block* block) {
    context_.DeclareTile(context_.BlockNumber(), block);
    DeclareCopies(block);
    DeclareSums(block);
    if (!totals_.empty()) block->push_back(SetToZero(totals_));
    if (unit().has_warps()) {
      EmitStagesOfWarps(block);
    } else {
      EmitFirstCopies(block);
      EmitStages(block);
    }
    if (!totals_.empty()) block->push_back(TakeTotals());
    results_.Emit(Larger().array(), block);
  }

  // Every so many tiles from the block's number on. In a turn the copies for a tile begin, the
  // results of the one before are stored, and the tile is multiplied; in one turn more than there
  // are tiles results are stored only. They are in shared memory where copies of later stages go,
  // which begin behind the next barrier.
  void EmitTiles(Block* block) {
    const Index turn = Index::Variable(turn_);
    const int64_t tiles = plan().blocks(unit()), blocks = plan().launched(unit());
    const auto if_exists = [&](Block body) {
      return When({Less(turn, Index(tiles))}, std::move(body));
    };
    DeclareSums(block);
    Block body;
    context_.DeclareTile(turn, &body);
    DeclareCopies(&body);
    Block first, results, stages;
    EmitFirstCopies(&first);
    body.push_back(if_exists(std::move(first)));
    const UnitContext::Tile here = context_.tile();
    context_.set_tile(context_.OtherTile("stored_"));
    context_.DeclareTile(turn - Index(blocks), &results);
    results_.Emit(Larger().array(), &results);
    context_.set_tile(here);
    // The engine copies to where threads had these.
    if (plan().has_tensors()) results.push_back({UnitFence{}});
    body.push_back(When({Less(Index(blocks - 1), turn)}, std::move(results)));
    EmitSums(&stages);
    body.push_back(if_exists(std::move(stages)));
    block->push_back(OverTurns(tiles + blocks, std::move(body)));
  }

  // A warp of its own begins copies as places become free, of the next tile, too, while groups
  // store results, which are where no stage is if there is a next tile.
  void EmitRoles(Block* block) {
    const Index stage = Index::Variable(stage_), slot = Index::Variable(slot_);
    Block produce, multiply;
    OverTiles(
        [&](Block* tile) {
          Block copies = {{DeclareIndex{slot_, stage % plan().places}}};
          arrivals_.AwaitRelease(stage, slot, Turn(), &copies);
          arrivals_.EmitCopies(FirstStage() + stage, slot, &copies);
          tile->push_back(Rolled(stage_, StageCount(), std::move(copies)));
        },
        &produce);
    if (unit().cluster() > 1) arrivals_.AwaitCluster(stage_, StageCount(), &produce);
    // Groups have names of their own for the same.
    context_.set_tile(context_.OtherTile("own_"));
    for (std::string* name : {&stage_, &slot_}) *name = context_.names().Unique(*name);
    if (!turn_.empty()) turn_ = context_.names().Unique(turn_);
    if (has_group()) multiply.push_back({TakeRegisters{UnitGroupRegisters(unit()), true}});
    DeclareSums(&multiply);
    OverTiles(
        [&](Block* tile) {
          EmitSums(tile);
          results_.Emit(Larger().array(), tile);
        },
        &multiply);
    const Index thread = context_.Thread(), producer(context_.threads());
    produce = {When({Equal(thread, producer)}, std::move(produce))};
    if (has_group()) produce.insert(produce.begin(), {TakeRegisters{kProducerRegisters, false}});
    If roles{{Less(thread, producer)}, ShareBlock(std::move(multiply)), ShareBlock(produce)};
    block->push_back({std::move(roles)});
  }

  // Every so many tiles from the block's number on, or the one with that number.
  void OverTiles(const std::function<void(Block* tile)>& emit, Block* block) {
    if (unit().turns == 1) {
      context_.DeclareTile(context_.BlockNumber(), block);
      return emit(block);
    }
    Block tile;
    context_.DeclareTile(Index::Variable(turn_), &tile);
    emit(&tile);
    block->push_back(OverTurns(plan().blocks(unit()), std::move(tile)));
  }
  Statement OverTurns(int64_t end, Block body) const {
    return {For{.variable = turn_,
                .begin = context_.BlockNumber(),
                .end = Index(end),
                .step = plan().launched(unit()),
                .whole_steps = false,
                .body = ShareBlock(std::move(body)),
                .unroll_by = 1}};
  }

  // All stages of a tile behind its first copies.
  void EmitSums(Block* block) {
    if (!totals_.empty()) block->push_back(SetToZero(totals_));
    EmitStages(block);
    if (!totals_.empty()) block->push_back(TakeTotals());
  }

  void DeclareCopies(Block* block) {
    a_.DeclarePointers(FirstStage(), block);
    b_.DeclarePointers(FirstStage(), block);
  }

  void DeclareSums(Block* block) {
    for (const std::string& array : {context_.sums, totals_}) {
      if (array.empty()) continue;
      block->push_back({DeclareArray{array, plan().sum, UnitSums(unit()), MemorySpace::kPrivate}});
    }
  }

  // The operand whose stages have the most shared memory (UnitRoomBytes).
  const UnitCopies& Larger() const {
    return plan().is_shared || plan().a.rows > plan().b.rows ? a_ : b_;
  }

  // ---- Stages ----

  // Number of the part's first one, and how many it has.
  Index FirstStage() const { return context_.Part() * plan().part_stages; }
  Index StageCount() const {
    const Index most(plan().part_stages);
    if (plan().stages_k % plan().part_stages == 0) return most;
    return Min(most, Index(plan().stages_k) - FirstStage());
  }
  bool AlwaysHas(int64_t stages) const {
    return plan().stages_k - (unit().parts - 1) * plan().part_stages >= stages;
  }

  // What is computed of a stage is loaded while the copies of the one before begin.
  void Load(const Index& stage, Block* block) const {
    a_.Load(FirstStage() + stage, block);
    b_.Load(FirstStage() + stage, block);
  }

  // The copies of a stage as a group, an empty one if there is none.
  Block Copies(const Index& stage, bool exists) {
    Block copies;
    const Index slot = stage % plan().places;
    a_.Emit(FirstStage() + stage, slot, &copies);
    b_.Emit(FirstStage() + stage, slot, &copies);
    if (plan().has_tensors()) {
      Block tensors;
      arrivals_.EmitCopies(FirstStage() + stage, slot, &tensors);
      copies.push_back(When({IsZero(context_.Thread())}, std::move(tensors)));
    }
    const Index next = stage + Index(1);
    Block loads;
    Load(next, &loads);
    if (!loads.empty()) copies.push_back(When({Less(next, StageCount())}, std::move(loads)));
    if (!exists) copies = {When({Less(stage, StageCount())}, std::move(copies))};
    if (plan().has_copying_threads()) copies.push_back({CommitCopies{}});
    return copies;
  }

  // Until the stage is in its place.
  void AwaitStage(Block* block) const {
    if (plan().has_copying_threads()) {
      block->push_back({WaitForCopies{static_cast<int>(plan().ahead - 1)}});
      block->push_back({UnitFence{}});
    }
    if (!plan().has_tensors()) return;
    arrivals_.AwaitCopies(Index::Variable(stage_), Index::Variable(slot_), Turn(), block);
  }
  // The number of the tile among the block's.
  Index Turn() const {
    return unit().turns == 1 ? Index(0) : Index::Variable(turn_) / plan().launched(unit());
  }

  void EmitFirstCopies(Block* block) {
    const int64_t ahead = plan().ahead;
    block->push_back({Comment{absl::StrCat("Begin the copies for the first ", ahead,
                                           ahead == 1 ? " stage." : " stages.")}});
    Load(Index(0), block);
    Block copies = Copies(Index::Variable(ahead_), AlwaysHas(ahead));
    block->push_back(Rolled(ahead_, Index(ahead), std::move(copies)));
  }

  // The copies of a later stage go to where the stage before was, whose fragments all threads had
  // loaded when they met behind it. Behind the last stage fragments are loaded that nobody uses.
  void EmitStagesOfWarps(Block* block) {
    const int64_t ahead = plan().ahead;
    WarpUnit warps(context_, a_, b_);
    EmitFirstCopies(block);
    warps.Declare(block);
    const auto await_stage = [&](Block* to) {
      to->push_back({WaitForCopies{static_cast<int>(ahead - 1)}});
      to->push_back({Barrier{}});
    };
    await_stage(block);
    warps.Load(Index(0), 0, block);
    const Index stage = Index::Variable(stage_), slot = Index::Variable(slot_);
    const Index next = Index::Variable(next_slot_);
    Block body;
    body.push_back({DeclareIndex{slot_, stage % plan().places}});
    body.push_back({DeclareIndex{next_slot_, (stage + Index(1)) % plan().places}});
    body.push_back({Comment{"Begin the copies for a later stage while this one is multiplied."}});
    Append(Copies(stage + Index(ahead), /*exists=*/false), &body);
    for (int64_t step = 0; step < warps.steps(); ++step) {
      const bool is_last = step + 1 == warps.steps();
      if (is_last) await_stage(&body);
      warps.Load(is_last ? next : slot, is_last ? 0 : step + 1, &body);
      warps.Multiply(step, &body);
    }
    warps.AwaitStage(&body);
    if (!totals_.empty()) {
      Block promote = {AddToTotals(totals_)};
      promote.push_back(SetToZero(context_.sums));
      body.push_back(When(IsPromoted(Index::Variable(stage_)), std::move(promote)));
    }
    block->push_back(Rolled(stage_, StageCount(), std::move(body)));
    block->push_back({WaitForCopies{0}});
    if (plan().is_staged) block->push_back({Barrier{}});
  }

  // Behind the first copies.
  void EmitStages(Block* block) {
    if (AddsByHalves()) block->push_back(SetToZero(context_.sums));
    Block body;
    body.push_back({DeclareIndex{slot_, Index::Variable(stage_) % plan().places}});
    AwaitStage(&body);
    if (!unit().has_producer()) body.push_back({Barrier{}});
    DeclareOperands(&body);
    if (AddsByHalves()) {
      EmitHalves(&body);
    } else {
      EmitWhole(&body);
    }
    block->push_back(Rolled(stage_, StageCount(), std::move(body)));
    block->push_back({WaitForMultiplies{0}});
    if (AddsByHalves()) block->push_back(AddToTotals(totals_, Half(1)));
    if (plan().has_copying_threads()) block->push_back({WaitForCopies{0}});
    if (unit().has_producer() && plan().is_behind) {
      arrivals_.EmitRelease((StageCount() - Index(1)) % plan().places, block);
    }
    block->push_back(context_.Meeting());
  }

  // What has been multiplied for certain: this stage, or the one before it.
  void Release(Block* body) const {
    if (!plan().is_behind) return arrivals_.EmitRelease(Index::Variable(slot_), body);
    Block before;
    arrivals_.EmitRelease((Index::Variable(stage_) - Index(1)) % plan().places, &before);
    body->push_back(When({Less(Index(0), Index::Variable(stage_))}, std::move(before)));
  }

  void EmitLaterCopies(Block* body) {
    if (unit().has_producer()) return;
    if (plan().ahead == plan().part_stages) {
      if (!plan().has_copying_threads()) return;
      body->push_back({Comment{"All copies have begun: none are those of one stage more."}});
      body->push_back({CommitCopies{}});
      return;
    }
    body->push_back(
        {Comment{plan().is_refilled ? "Begin the copies for the next stage in this one's place."
                                    : "Begin the copies for a later stage while this one is "
                                      "multiplied."}});
    Append(Copies(Index::Variable(stage_) + Index(plan().ahead), /*exists=*/false), body);
  }

  // Behind the multiplications of the stage, once those of all groups are done.
  void EmitRefill(Block* body) {
    body->push_back({Barrier{}});
    EmitLaterCopies(body);
  }

  void EmitWhole(Block* body) {
    EmitMultiplications(All(), body);
    if (!plan().is_refilled) EmitLaterCopies(body);
    body->push_back({WaitForMultiplies{plan().is_behind ? 1 : 0}});
    if (plan().is_refilled) EmitRefill(body);
    if (unit().has_producer()) Release(body);
    if (totals_.empty()) return;
    body->push_back(
        When(IsPromoted(Index::Variable(stage_)), {{WaitForMultiplies{0}}, AddToTotals(totals_)}));
  }

  // Sums of every stage are added to the totals: one half of them while the unit multiplies for the
  // other one, so that it always has something to do. Of the second half that is in the next stage;
  // in the first one they are 0. What is in flight from one iteration to the next is waited for
  // where nothing else is: assemblers have multiplications wait for each other where they do not
  // see that sums they are about to read are done.
  bool AddsByHalves() const { return plan().promoted_stages() == 1 && HasHalves(); }
  void EmitHalves(Block* body) {
    body->push_back({WaitForMultiplies{0}});
    EmitMultiplications(Half(0), body);
    body->push_back(AddToTotals(totals_, Half(1)));
    EmitMultiplications(Half(1), body);
    if (!plan().is_refilled) EmitLaterCopies(body);
    body->push_back({WaitForMultiplies{1}});
    body->push_back(AddToTotals(totals_, Half(0)));
    if (!plan().is_behind) body->push_back({WaitForMultiplies{0}});
    if (plan().is_refilled) EmitRefill(body);
  }

  // ---- Promotion (UnitPlan::promoted_stages) ----

  Statement SetToZero(const std::string& sums) {
    const std::string sum = context_.names().Unique("sum");
    const LoopValue zero = MakeLiteral(ScalarValue::Zero(plan().sum));
    return Unrolled(sum, UnitSums(unit()), {{StoreElements{sums, Index::Variable(sum), zero, 1}}});
  }

  // The sums since the last time, added to what there was then, in `to`: all, or of one part.
  Statement AddToTotals(const std::string& to) {
    const std::string sum = context_.names().Unique("sum");
    return AddNumbered(to, sum, UnitSums(unit()), Index::Variable(sum));
  }
  Statement AddToTotals(const std::string& to, const Part& part) {
    const std::string sum = context_.names().Unique("sum");
    const int64_t of_tile = unit().columns / 2, count = part.columns / 2;
    const Index number = Index::Variable(sum);
    const Index at = count == of_tile ? number : number / count * of_tile + number % count;
    return AddNumbered(to, sum, part.tiles * count, at + Index(FirstSum(part)));
  }
  Statement AddNumbered(const std::string& to, const std::string& variable, int64_t count,
                        const Index& at) const {
    const auto one = [&](const std::string& array) {
      return MakeLoad(array, at, {plan().sum, 1}, 1);
    };
    LoopValue total = MakeOperation(ScalarOp::kAdd, plan().sum, {one(totals_), one(context_.sums)});
    return Unrolled(variable, count, {{StoreElements{to, at, std::move(total), 1}}});
  }
  int64_t FirstSum(const Part& part) const {
    return (part.first_tile * unit().columns + part.first_column) / 2;
  }

  // Behind the last stage, whose sums may have been added to the totals.
  Statement TakeTotals() {
    const std::string sum = context_.names().Unique("sum");
    LoopValue total = MakeLoad(totals_, Index::Variable(sum), {plan().sum, 1}, 1);
    Block take = {
        Unrolled(sum, UnitSums(unit()),
                 {{StoreElements{context_.sums, Index::Variable(sum), std::move(total), 1}}})};
    Block add = {AddToTotals(context_.sums)};
    return {If{IsPromoted(StageCount() - Index(1)), ShareBlock(std::move(take)),
               ShareBlock(std::move(add))}};
  }

  // Whether the sums are added to the totals at the end of the stage.
  std::vector<Condition> IsPromoted(const Index& stage) const {
    return {Less(Index(plan().promoted_stages() - 2), stage % plan().promoted_stages()),
            Less(Index(plan().first_promoted() - 1), FirstStage() + stage)};
  }

  // Not 0 but in the first stage, and in those behind one whose sums were added to the totals.
  Index KeepsSums() const {
    const Index stage = Index::Variable(stage_);
    if (totals_.empty()) return stage;
    if (plan().promoted_stages() == 1) return Index(0);
    const Index most(plan().first_promoted() + 1);
    return Min(stage, stage % plan().promoted_stages() + most - Min(FirstStage() + stage, most));
  }

  void DeclareOperands(Block* block) const {
    const Index slot = Index::Variable(slot_);
    const Index group = context_.Thread() / kUnitThreads;
    a_.DeclareFor(operand_a_, slot, group * (group_tiles() * kUnitRows * a_.depth()), block);
    b_.DeclareFor(operand_b_, slot, Index(0), block);
  }

  // Columns are rows of B along k where they are not all.
  void EmitMultiplications(const Part& part, Block* block) const {
    block->push_back({GroupFence{}});
    const int64_t steps = kOperandRowBytes / kMultipliedBytes;
    for (int64_t step = 0; step < steps; ++step) {
      for (int64_t n = 0; n < part.tiles; ++n) {
        const int64_t tile = part.first_tile + n;
        block->push_back({GroupMultiply{static_cast<int>(part.columns), context_.sums,
                                        FirstSum(part) + n * unit().columns / 2,
                                        a_.OperandOf(step, operand_a_, tile * kUnitRows),
                                        b_.OperandOf(step, operand_b_, part.first_column),
                                        step == 0 ? KeepsSums() : Index(1)}});
      }
    }
    block->push_back({CommitMultiplies{}});
  }

  UnitContext context_;
  UnitCopies a_, b_;
  UnitArrivals arrivals_;
  UnitResults results_;
  std::string stage_ = "stage", ahead_ = "ahead";
  std::string turn_;    // of blocks with several tiles
  std::string totals_;  // array of those of promoted sums; empty: there are none
  std::string slot_ = "slot", next_slot_ = "next_slot", operand_a_ = "a", operand_b_ = "b";
};

}  // namespace

Result<LoopProgram> BuildUnitProgram(const LowLevelExpression& low_level) {
  const TuningParameters& p = low_level.parameters();
  MDH_ASSIGN_OR_RETURN(UnitPlan plan, PlanUnit(low_level.expression(), p.numerics));
  plan = CutForUnit(p.unit, p.combine_blocks, std::move(plan));
  return UnitProgramBuilder(low_level, std::move(plan)).Build();
}

}  // namespace mdh

#include "codegen/lower/tiles/build_loop_program.h"

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/lower/finish/finish_results.h"
#include "codegen/lower/finish/mirror_results.h"
#include "codegen/lower/tiles/finite_flag.h"
#include "codegen/lower/tiles/staging.h"
#include "codegen/lower/tiles/tile_function.h"
#include "codegen/lower/tiles/tile_shape.h"
#include "codegen/lower/walk/level_walk.h"
#include "codegen/program/digits.h"
#include "core/base/round.h"
#include "core/base/status.h"

namespace mdh {
namespace {

// Tiles of results in registers: a level is a loop over the first points of its parts, and these
// have ranges of points, so that what is left at the end of a dimension is known where it is cut.
class TileProgramBuilder : public LevelWalk {
 public:
  explicit TileProgramBuilder(const LoopPlan& plan) : LevelWalk(plan.shape()), plan_(plan) {
    state_.points.assign(plan_.rank(), 0);
    state_.origins.assign(plan_.rank(), Index(0));
  }

 private:
  struct State {
    std::vector<DimensionRange> ranges;  // of the part that encloses the current position
    std::vector<int64_t> points;         // of the register tile, as far as it is fixed
    std::vector<Index> origins;          // of the register tile
    // Which tile is the first of those that share words (LoopPlan::shares_excess).
    std::vector<Condition> is_uncounted;
  };

  // ---- Stages ----

  static bool IsWhole(const StagedCopy& copy) {
    return copy.layer == InputParameters::kWholeBuffer;
  }

  void Prepare() override {
    Block packing;
    for (const StagedCopy& copy : plan_.staged()) {
      program_.scratch.push_back(
          {copy.name, copy.type, copy.elements, /*per_thread=*/!IsWhole(copy)});
      if (IsWhole(copy)) Append(BuildPacking(plan_, copy, {}, /*shared=*/true), &packing);
    }
    if (plan_.shares_excess()) {
      program_.scratch.push_back({plan_.excess_name(), ScalarType::kInt32, plan_.excess_elements(),
                                  /*per_thread=*/true});
    }
    if (packing.empty()) return;
    program_.stages.push_back({.comment = "Pack whole inputs, each thread its share.",
                               .body = std::move(packing),
                               .only_packs = true});
  }

  bool Computes() const override { return plan_.terms().empty(); }
  bool UsesArrays() const override { return plan_.uses_result_arrays(); }
  ResultArrays Arrays() override {
    return {.index_names = plan_.index_names(),
            .arrays = plan_.targets(),
            .outputs = plan_.outputs(),
            .store = plan_.store_pointers(),
            .lanes = static_cast<int>(RoundDownToPowerOfTwo(plan_.lanes())),
            .may_reorder = Reassociates(plan_.numerics()),
            .terms = plan_.terms()};
  }
  void Finish(const ResultArrays& arrays) override {
    if (!plan_.sums_in_outputs())
      AppendResultArrays(expression(), arrays.arrays, arrays.slots, &program_);
    if (!plan_.stores_at_last()) AppendFinishingStages(plan_.sums(), arrays, &program_);
  }
  void Complete() override {
    if (!plan_.mirror()) return;
    program_.stages.push_back(
        MirrorStage(expression(), {.dimensions = *plan_.mirror(),
                                   .index_names = plan_.index_names(),
                                   .outputs = plan_.outputs(),
                                   .lanes = RoundDownToPowerOfTwo(plan_.lanes())}));
  }
  Block Views() override { return plan_.views(); }

  // ---- Core layer ----

  // Whether tiles leave products out.
  bool AsksForFinite() const {
    return std::ranges::any_of(tile_parameters_, [](const auto& tile) {
      return std::ranges::any_of(tile.second, [](const TileParameter& p) {
        return p.role == TileParameter::Role::kFinite;
      });
    });
  }

  Stage Distribute(Block part) override {
    const OutsideProducts* products = plan_.outside_products();
    if (!AsksForFinite()) return LevelWalk::Distribute(std::move(part));
    Block first = DeclareFinite("finite", plan_.input_name(products->factor),
                                expression().inputs()[products->factor],
                                static_cast<int>(RoundDownToPowerOfTwo(plan_.lanes())));
    if (CoreParts() == 1) {
      Append(std::move(part), &first);
      return LevelWalk::Distribute(std::move(first));
    }
    Stage stage = LevelWalk::Distribute(std::move(part));
    Append(std::move(stage.body), &first);
    stage.body = std::move(first);
    return stage;
  }

  // Parts below the diagonal have more to do than those above it: whoever has one of these has one
  // of the others next.
  Block ShareParts(int64_t parts, Block part) override {
    const char* number = "part";
    if (plan_.mirror()) {
      number = "item";
      part.insert(part.begin(), {DeclareIndex{"part", Folded(Index::Variable(number), parts)}});
    }
    return {{DeclareIndex{"part_end", Index::ShareEnd(parts)}},
            {For{number, Index::ShareBegin(parts), Index::Variable("part_end"), 1, false,
                 ShareBlock(std::move(part))}}};
  }

  // Number of the part of the core level at this place, from that of all.
  Index PartNumber(int place) const {
    int64_t inner = 1;
    for (const int n : CorePlaces()) {
      if (n > place) inner *= shape().levels()[n].parts;
    }
    return DigitAt(Index::Variable("part"), inner, shape().levels()[place].parts, CoreParts());
  }

  void DeclareParts(Block* block) override {
    std::vector<int> places = CorePlaces();
    std::ranges::sort(places, [&](int a, int b) {
      return shape().levels()[a].level.dimension < shape().levels()[b].level.dimension;
    });
    for (int d = 0; d < plan_.rank(); ++d) {
      state_.ranges.push_back({Index(0), Index(plan_.size(d)), Index(plan_.size(d))});
    }
    for (const int n : places) {
      const auto& [level, assigned, role, parts, tile] = shape().levels()[n];
      const int d = level.dimension;
      const std::string name = plan_.core_variable(d);
      block->push_back({DeclareIndex{name, PartNumber(n) * tile}});
      state_.ranges[d] = EnterRange(name, tile, plan_.size(d), Index(plan_.size(d)), *block);
    }
  }

  // Range of a part of `tile` points that starts at `variable` within [.., end) of a dimension with
  // `size` points.
  static DimensionRange EnterRange(const std::string& variable, int64_t tile, int64_t size,
                                   const Index& end, Block& block) {
    const Index begin = Index::Variable(variable);
    if (size % tile == 0) return {begin, begin + Index(tile), Index(tile)};
    block.push_back({DeclareIndex{variable + "_end", Min(begin + Index(tile), end)}});
    const Index part_end = Index::Variable(variable + "_end");
    return {begin, part_end, part_end - begin};
  }

  void DeclareSlots(Block* block) override {
    DeclareSlot(
        shape(), plan_.targets(), [&](int n) { return PartNumber(n); }, block);
  }

  void EmitPart(Block* block) override { EmitKept(0, block); }

  // ---- Results that are equal to others ----

  // Level n and all inside of it, but where all of the part at hand is above the diagonal: its last
  // row is before its first column. Tiles at the end of a dimension may have points of parts before
  // theirs besides, which these compute, too.
  void EmitKept(int n, Block* block) {
    if (!plan_.mirror()) return EmitLevel(n, block);
    const auto [row, column] = *plan_.mirror();
    const DimensionRange rows = RangeOf(row);
    const Index begin = RangeOf(column).begin;
    if (begin.IsZero() ||
        (begin.is_constant() && rows.end.is_constant() && begin.constant() < rows.end.constant())) {
      return EmitLevel(n, block);
    }
    Block kept;
    EmitLevel(n, &kept);
    block->push_back(When({Less(begin, rows.end)}, std::move(kept)));
  }

  // Of the register tile, as far as it is fixed, else of the part.
  DimensionRange RangeOf(int d) const {
    if (state_.points[d] == 0) return state_.ranges[d];
    const Index points(state_.points[d]);
    return {state_.origins[d], state_.origins[d] + points, points};
  }

  // ---- Memory layers ----

  void Enter(int n, Block* block) override {
    for (const StagedCopy& copy : plan_.staged()) {
      if (IsWhole(copy) || copy.place != n) continue;
      Append(BuildPacking(plan_, copy, state_.ranges, /*shared=*/false), block);
    }
  }
  void Leave(int, Block*) override {}

  bool HasLoop(int n) const override { return plan_.LoopAt(n) != nullptr; }

  // In a loop along d.
  void Repeat(int d, const std::string& variable, const Index& begin, State& inside) const {
    if (!plan_.shares_excess()) return;
    if (plan_.has_words_along(d)) return inside.is_uncounted.clear();
    inside.is_uncounted.push_back(Equal(Index::Variable(variable), begin));
  }

  // What is inside of level n, where things are as the state says.
  void EmitInside(int n, State inside, Block* block) {
    std::swap(state_, inside);
    const int d = shape().levels()[n].level.dimension;
    const bool moves = plan_.mirror() && (d == plan_.mirror()->row || d == plan_.mirror()->column);
    moves ? EmitKept(n + 1, block) : EmitLevel(n + 1, block);
    std::swap(state_, inside);
  }

  void EmitLoop(int n, Block* block) override {
    const PlannedLoop& loop = *plan_.LoopAt(n);
    const int d = loop.dimension;
    if (loop.variable == plan_.index_name(d)) return EmitTileLoop(loop, block);
    Block body;
    State inside = state_;
    const DimensionRange range = state_.ranges[d];
    inside.ranges[d] = EnterRange(loop.variable, loop.step, plan_.size(d), range.end, body);
    Repeat(d, loop.variable, range.begin, inside);
    EmitInside(n, std::move(inside), &body);
    block->push_back({For{loop.variable, range.begin, range.end, loop.step, false,
                          ShareBlock(std::move(body))}});
  }

  // Whole register tiles in a loop, then those at the end of the dimension. A whole tile that
  // begins earlier is in the loop, too.
  void EmitTileLoop(const PlannedLoop& loop, Block* block) {
    const int d = loop.dimension;
    const DimensionRange range = state_.ranges[d];
    const std::vector<LastTile>& last = plan_.last_tiles(d);
    const bool is_whole = last.size() == 1 && last[0].points == loop.step;
    State inside = state_;
    Repeat(d, loop.variable, range.begin, inside);
    inside.points[d] = loop.step;
    inside.origins[d] = Index::Variable(loop.variable);
    if (is_whole) inside.origins[d] = Min(inside.origins[d], Index(last[0].origin));
    Block body;
    EmitInside(loop.place, inside, &body);
    const Index end = last.size() > 1 ? Min(range.end, Index(last[0].origin)) : range.end;
    block->push_back({For{loop.variable, range.begin, end, loop.step, !last.empty() && !is_whole,
                          ShareBlock(std::move(body))}});
    if (is_whole) return;
    inside.origins[d] = Index::Variable(loop.variable);
    for (const LastTile& tile : last) {
      inside.points[d] = tile.points;
      Block rest_body;
      rest_body.push_back({DeclareIndex{loop.variable, Index(tile.origin)}});
      EmitInside(loop.place, inside, &rest_body);
      std::vector<Condition> conditions;
      if (!range.end.is_constant()) conditions.push_back(Equal(range.end, Index(plan_.size(d))));
      block->push_back(When(conditions, std::move(rest_body)));
    }
  }

  // ---- Register tile ----

  // Reduced dimensions with loops around the tile: results accumulate in the output.
  std::vector<Condition> FirstConditions() const {
    std::vector<Condition> conditions;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_reduction(d)) continue;
      std::string variable;
      for (const PlannedLoop& loop : plan_.outer_loops()) {
        if (loop.dimension == d) variable = loop.variable;
      }
      if (variable.empty()) continue;
      const Index begin =
          plan_.core_parts(d) > 1 ? Index::Variable(plan_.core_variable(d)) : Index(0);
      conditions.push_back(Equal(Index::Variable(variable), begin));
    }
    return conditions;
  }

  // Whether the parts at hand of these dimensions are the last ones.
  std::vector<Condition> LastConditions(const State& tile) const {
    std::vector<Condition> conditions;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_reduction(d)) continue;
      const Index end = plan_.is_inner_reduction(d) ? tile.ranges[d].end
                                                    : tile.origins[d] + Index(tile.points[d]);
      if (end.is_constant() && end.constant() == plan_.size(d)) continue;
      conditions.push_back(Equal(end, Index(plan_.size(d))));
    }
    return conditions;
  }

  void EmitInnermost(Block* block) override {
    State tile = state_;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (plan_.is_inner_reduction(d) || tile.points[d] != 0) continue;
      tile.points[d] = plan_.register_tile(d);  // one part only: it starts where its range starts
      tile.origins[d] = tile.ranges[d].begin;
    }
    if (plan_.shares_excess()) block->push_back({DeclareFlag{"uncounted", tile.is_uncounted}});
    const std::vector<Condition> first = FirstConditions();
    if (!first.empty()) block->push_back({DeclareFlag{"first", first}});
    if (plan_.stores_at_last()) block->push_back({DeclareFlag{"last", LastConditions(tile)}});
    const auto call = [&](TilePlace place) { return CallTile(tile, place, !first.empty()); };
    const std::optional<std::vector<Condition>> inside = InsideConditions(tile);
    if (!inside.has_value()) return block->push_back(call(TilePlace::kAnywhere));
    if (inside->empty()) return block->push_back(call(TilePlace::kInside));
    Statement anywhere = call(TilePlace::kAnywhere);
    Block then_block = {call(TilePlace::kInside)}, else_block = {std::move(anywhere)};
    block->push_back(
        {If{*inside, ShareBlock(std::move(then_block)), ShareBlock(std::move(else_block))}});
  }

  Statement CallTile(const State& tile, TilePlace place, bool accumulates) {
    auto [position, inserted] = tiles_.try_emplace({tile.points, place}, tile_parameters_.size());
    if (inserted) {
      TileFunction built = BuildTileFunction(plan_, tile.points, place, accumulates);
      tile_parameters_.push_back({built.function.name, built.parameters});
      program_.functions.push_back(std::move(built.function));
    }
    const auto& [name, parameters] = tile_parameters_[position->second];
    std::vector<CallArgument> arguments;
    for (const TileParameter& p : parameters) arguments.push_back(Argument(p, tile));
    return {Call{name, std::move(arguments)}};
  }

  // What makes all elements of buffers with a boundary lie inside; nullopt if they never do.
  std::optional<std::vector<Condition>> InsideConditions(const State& tile) const {
    std::vector<Condition> conditions;
    const auto require_less = [&](const Index& a, const Index& b) {
      if (a.is_constant() && b.is_constant()) return a.constant() < b.constant();
      const bool is_known =
          std::ranges::any_of(conditions, [&](const Condition& c) { return c.a == a && c.b == b; });
      if (!is_known) conditions.push_back(Less(a, b));
      return true;
    };
    std::vector<Index> first, last;
    for (int d = 0; d < plan_.rank(); ++d) {
      const bool inner = plan_.is_inner_reduction(d);
      first.push_back(inner ? tile.ranges[d].begin : tile.origins[d]);
      last.push_back(inner ? tile.ranges[d].end - Index(1)
                           : first.back() + Index(tile.points[d] - 1));
    }
    for (size_t b = 0; b < expression().inputs().size(); ++b) {
      const Buffer& buffer = expression().inputs()[b];
      if (buffer.boundary.kind == Boundary::Kind::kNone) continue;
      if (plan_.StagedInput(static_cast<int>(b)) != nullptr) continue;  // the copy is complete
      for (const IndexFunction& access : buffer.accesses) {
        for (size_t x = 0; x < buffer.extents.size(); ++x) {
          const auto [low, high] = BoundsOf(access.indices[x], first, last);
          if (!require_less(Index(-1), low) || !require_less(high, Index(buffer.extents[x]))) {
            return std::nullopt;
          }
        }
      }
    }
    return conditions;
  }

  CallArgument Argument(const TileParameter& p, const State& tile) const {
    switch (p.role) {
      case TileParameter::Role::kOutput:
        return shape().Slots() > 1 ? p.parameter.name + "_slot" : p.parameter.name;
      case TileParameter::Role::kOrigin:
        return tile.origins[p.index];
      case TileParameter::Role::kRangeBegin:
        return tile.ranges[p.index].begin;
      case TileParameter::Role::kRangeEnd:
        return tile.ranges[p.index].end;
      case TileParameter::Role::kVariable:
        return Index::Variable(p.parameter.name);
      case TileParameter::Role::kInput:
      case TileParameter::Role::kStaged:
      case TileParameter::Role::kExcess:
      case TileParameter::Role::kUncounted:
      case TileParameter::Role::kFinite:
      case TileParameter::Role::kFirst:
      case TileParameter::Role::kLast:
        break;
    }
    return p.parameter.name;
  }

  const LoopPlan& plan_;
  State state_;
  std::map<std::pair<std::vector<int64_t>, TilePlace>, size_t> tiles_;
  std::vector<std::pair<std::string, std::vector<TileParameter>>> tile_parameters_;
};

}  // namespace

LoopProgram BuildLoopProgram(const LoopPlan& plan) {
  LoopProgram program = TileProgramBuilder(plan).Build();
  if (plan.dot_tiles() == nullptr) return program;
  for (Stage& stage : program.stages) stage.body.push_back({ReleaseTiles{}});
  return program;
}

}  // namespace mdh

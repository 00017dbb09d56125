#include "codegen/lower/tiles/build_loop_program.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "codegen/lower/finish/finish_results.h"
#include "codegen/lower/tiles/staging.h"
#include "codegen/lower/tiles/tile_function.h"
#include "core/base/status.h"

namespace mdh {
namespace {

class LoopProgramBuilder {
 public:
  explicit LoopProgramBuilder(const LoopPlan& plan) : plan_(plan) {}

  LoopProgram Build() {
    for (const StagedCopy& copy : plan_.staged()) {
      const bool whole = copy.layer == InputParameters::kWholeBuffer;
      program_.scratch.push_back({copy.name, copy.type, copy.elements, /*per_thread=*/!whole});
    }
    Block packing;
    for (const StagedCopy& copy : plan_.staged()) {
      if (copy.layer != InputParameters::kWholeBuffer) continue;
      for (Statement& s : BuildPacking(plan_, copy, {}, /*shared=*/true))
        packing.push_back(std::move(s));
    }
    if (!packing.empty()) {
      program_.stages.push_back({"Pack whole inputs, each thread its share.", std::move(packing)});
    }
    if (plan_.uses_result_arrays()) {
      AppendResultArrays(plan_.expression(), plan_.targets(), plan_.reduction_parts(), &program_);
    }
    program_.stages.push_back({"Compute, each thread its share of the parts.", BuildCompute()});
    if (plan_.uses_result_arrays() && !plan_.stores_at_last()) {
      AppendFinishingStages(plan_.expression(),
                            {plan_.index_names(), plan_.targets(), plan_.outputs(),
                             plan_.store_pointers(), plan_.reduction_parts(), plan_.core_tiles()},
                            &program_);
    }
    DeclareUsed(plan_.views(), &program_);
    return std::move(program_);
  }

 private:
  struct State {
    std::vector<DimensionRange> ranges;  // of the part that encloses the current position
    std::vector<int64_t> points;         // of the register tile, as far as it is fixed
    std::vector<Index> origins;          // of the register tile
  };

  // ---- Core layer ----

  Block BuildCompute() {
    const int64_t parts = plan_.total_core_parts();
    State state;
    state.points.assign(plan_.rank(), 0);
    state.origins.assign(plan_.rank(), Index(0));
    Block body;
    DecodePart(state, body);
    DeclarePartials(body);
    EmitLoops(0, state, body);
    if (parts == 1) return {ByFirstThread(std::move(body))};
    Block block;
    block.push_back({DeclareIndex{"part_end", Index::ShareEnd(parts)}});
    block.push_back({For{"part", Index::ShareBegin(parts), Index::Variable("part_end"), 1, false,
                         ShareBlock(std::move(body))}});
    return block;
  }

  // Number of the part along dimension d, from the flat number; the last dimension of the core
  // order varies fastest.
  Index PartNumber(int d) const {
    int64_t inner = 1;
    bool found = false;
    for (const int x : plan_.core_order()) {
      if (found) inner *= plan_.core_parts(x);
      found |= x == d;
    }
    Index number = Index::Variable("part") / inner;
    return inner * plan_.core_parts(d) == plan_.total_core_parts() ? number
                                                                   : number % plan_.core_parts(d);
  }

  void DecodePart(State& state, Block& block) {
    for (int d = 0; d < plan_.rank(); ++d) {
      const int64_t tile = plan_.core_tile(d);
      if (plan_.core_parts(d) == 1) {
        state.ranges.push_back({Index(0), Index(plan_.size(d)), Index(plan_.size(d))});
        continue;
      }
      const std::string name = plan_.index_name(d) + "_cor";
      block.push_back({DeclareIndex{name, PartNumber(d) * tile}});
      state.ranges.push_back(EnterPart(name, tile, plan_.size(d), Index(plan_.size(d)), block));
    }
  }

  // Range of a part of `tile` points that starts at `variable` within [.., end) of a dimension with
  // `size` points.
  static DimensionRange EnterPart(const std::string& variable, int64_t tile, int64_t size,
                                  const Index& end, Block& block) {
    const Index begin = Index::Variable(variable);
    if (size % tile == 0) return {begin, begin + Index(tile), Index(tile)};
    block.push_back({DeclareIndex{variable + "_end", Min(begin + Index(tile), end)}});
    const Index part_end = Index::Variable(variable + "_end");
    return {begin, part_end, part_end - begin};
  }

  void DeclarePartials(Block& block) {
    if (plan_.reduction_parts() == 1) return;
    Index slot(0);
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_reduction(d) || plan_.core_parts(d) == 1) continue;
      slot = slot * plan_.core_parts(d) + PartNumber(d);
    }
    DeclareSlot(plan_.expression(), plan_.targets(), slot, &block);
  }

  // ---- Memory layers ----

  void EmitLoops(size_t n, const State& state, Block& block) {
    for (const StagedCopy& copy : plan_.staged()) {
      if (copy.layer == InputParameters::kWholeBuffer || copy.ready_after != n) continue;
      for (Statement& s : BuildPacking(plan_, copy, state.ranges, /*shared=*/false)) {
        block.push_back(std::move(s));
      }
    }
    if (n == plan_.outer_loops().size()) return EmitCall(state, block);
    const PlannedLoop& loop = plan_.outer_loops()[n];
    const bool innermost = loop.variable == plan_.index_name(loop.dimension);
    if (innermost) return EmitTileLoop(n, state, block);
    const int d = loop.dimension;
    Block body;
    State inside = state;
    inside.ranges[d] =
        EnterPart(loop.variable, loop.step, plan_.size(d), state.ranges[d].end, body);
    EmitLoops(n + 1, inside, body);
    block.push_back({For{loop.variable, state.ranges[d].begin, state.ranges[d].end, loop.step,
                         false, ShareBlock(std::move(body))}});
  }

  // Whole register tiles in a loop, then those at the end of the dimension. A whole tile that
  // begins earlier is in the loop, too.
  void EmitTileLoop(size_t n, const State& state, Block& block) {
    const PlannedLoop& loop = plan_.outer_loops()[n];
    const int d = loop.dimension;
    const DimensionRange& range = state.ranges[d];
    const std::vector<LastTile>& last = plan_.last_tiles(d);
    const bool is_whole = last.size() == 1 && last[0].points == loop.step;
    State inside = state;
    inside.points[d] = loop.step;
    inside.origins[d] = Index::Variable(loop.variable);
    if (is_whole) inside.origins[d] = Min(inside.origins[d], Index(last[0].origin));
    Block body;
    EmitLoops(n + 1, inside, body);
    const Index end = last.size() > 1 ? Min(range.end, Index(last[0].origin)) : range.end;
    block.push_back({For{loop.variable, range.begin, end, loop.step, !last.empty() && !is_whole,
                         ShareBlock(std::move(body))}});
    if (is_whole) return;
    inside.origins[d] = Index::Variable(loop.variable);
    for (const LastTile& tile : last) {
      inside.points[d] = tile.points;
      Block rest_body;
      rest_body.push_back({DeclareIndex{loop.variable, Index(tile.origin)}});
      EmitLoops(n + 1, inside, rest_body);
      std::vector<Condition> conditions;
      if (!range.end.is_constant()) {
        conditions.push_back(Equal(range.end, Index(plan_.size(d))));
      }
      block.push_back(When(conditions, std::move(rest_body)));
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
          plan_.core_parts(d) > 1 ? Index::Variable(plan_.index_name(d) + "_cor") : Index(0);
      conditions.push_back(Equal(Index::Variable(variable), begin));
    }
    return conditions;
  }

  // Whether the parts at hand of these dimensions are the last ones.
  std::vector<Condition> LastConditions(const State& state, const std::vector<int64_t>& points,
                                        const std::vector<Index>& origins) const {
    std::vector<Condition> conditions;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_reduction(d)) continue;
      const Index end =
          plan_.is_inner_reduction(d) ? state.ranges[d].end : origins[d] + Index(points[d]);
      if (end.is_constant() && end.constant() == plan_.size(d)) continue;
      conditions.push_back(Equal(end, Index(plan_.size(d))));
    }
    return conditions;
  }

  void EmitCall(const State& state, Block& block) {
    std::vector<int64_t> points = state.points;
    std::vector<Index> origins = state.origins;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (plan_.is_inner_reduction(d) || points[d] != 0) continue;
      points[d] = plan_.register_tile(d);  // one part only: it starts where its range starts
      origins[d] = state.ranges[d].begin;
    }
    const std::vector<Condition> first = FirstConditions();
    if (!first.empty()) block.push_back({DeclareFlag{"first", first}});
    if (plan_.stores_at_last()) {
      block.push_back({DeclareFlag{"last", LastConditions(state, points, origins)}});
    }
    const std::optional<std::vector<Condition>> inside = InsideConditions(state, points, origins);
    if (inside.has_value() && inside->empty()) {
      block.push_back({CallTile(state, points, origins, TilePlace::kInside, !first.empty())});
      return;
    }
    Statement anywhere = CallTile(state, points, origins, TilePlace::kAnywhere, !first.empty());
    if (!inside.has_value()) {
      block.push_back(std::move(anywhere));
      return;
    }
    Block then_block, else_block;
    then_block.push_back(CallTile(state, points, origins, TilePlace::kInside, !first.empty()));
    else_block.push_back(std::move(anywhere));
    block.push_back(
        {If{*inside, ShareBlock(std::move(then_block)), ShareBlock(std::move(else_block))}});
  }

  Statement CallTile(const State& state, const std::vector<int64_t>& points,
                     const std::vector<Index>& origins, TilePlace place, bool accumulates) {
    auto [position, inserted] = tiles_.try_emplace({points, place}, tile_parameters_.size());
    if (inserted) {
      TileFunction tile = BuildTileFunction(plan_, points, place, accumulates);
      tile_parameters_.push_back({tile.function.name, tile.parameters});
      program_.functions.push_back(std::move(tile.function));
    }
    const auto& [name, parameters] = tile_parameters_[position->second];
    std::vector<CallArgument> arguments;
    for (const TileParameter& p : parameters) arguments.push_back(Argument(p, state, origins));
    return {Call{name, std::move(arguments)}};
  }

  // What makes all elements of buffers with a boundary lie inside; nullopt if they never do.
  std::optional<std::vector<Condition>> InsideConditions(const State& state,
                                                         const std::vector<int64_t>& points,
                                                         const std::vector<Index>& origins) const {
    std::vector<Condition> conditions;
    const auto require_less = [&](const Index& a, const Index& b) {
      if (a.is_constant() && b.is_constant()) return a.constant() < b.constant();
      const bool is_known = std::any_of(conditions.begin(), conditions.end(),
                                        [&](const Condition& c) { return c.a == a && c.b == b; });
      if (!is_known) conditions.push_back(Less(a, b));
      return true;
    };
    for (size_t b = 0; b < plan_.expression().inputs().size(); ++b) {
      const Buffer& buffer = plan_.expression().inputs()[b];
      if (buffer.boundary.kind == Boundary::Kind::kNone) continue;
      if (plan_.StagedInput(static_cast<int>(b)) != nullptr) continue;  // the copy is complete
      for (const IndexFunction& access : buffer.accesses) {
        for (size_t x = 0; x < buffer.extents.size(); ++x) {
          Index low(access.indices[x].constant), high = low;
          for (int d = 0; d < plan_.rank(); ++d) {
            const int64_t c = access.indices[x].coefficients[d];
            const bool inner = plan_.is_inner_reduction(d);
            const Index first = inner ? state.ranges[d].begin : origins[d];
            const Index last =
                inner ? state.ranges[d].end - Index(1) : first + Index(points[d] - 1);
            low = (c < 0 ? last : first) * c + low;
            high = (c < 0 ? first : last) * c + high;
          }
          if (!require_less(Index(-1), low) || !require_less(high, Index(buffer.extents[x]))) {
            return std::nullopt;
          }
        }
      }
    }
    return conditions;
  }

  CallArgument Argument(const TileParameter& p, const State& state,
                        const std::vector<Index>& origins) const {
    switch (p.role) {
      case TileParameter::Role::kOutput:
        return plan_.reduction_parts() > 1 ? p.parameter.name + "_slot" : p.parameter.name;
      case TileParameter::Role::kOrigin:
        return origins[p.index];
      case TileParameter::Role::kRangeBegin:
        return state.ranges[p.index].begin;
      case TileParameter::Role::kRangeEnd:
        return state.ranges[p.index].end;
      case TileParameter::Role::kVariable:
        return Index::Variable(p.parameter.name);
      case TileParameter::Role::kInput:
      case TileParameter::Role::kStaged:
      case TileParameter::Role::kFirst:
      case TileParameter::Role::kLast:
        break;
    }
    return p.parameter.name;
  }

  const LoopPlan& plan_;
  LoopProgram program_;
  std::map<std::pair<std::vector<int64_t>, TilePlace>, size_t> tiles_;
  std::vector<std::pair<std::string, std::vector<TileParameter>>> tile_parameters_;
};

}  // namespace

LoopProgram BuildLoopProgram(const LoopPlan& plan) { return LoopProgramBuilder(plan).Build(); }

}  // namespace mdh

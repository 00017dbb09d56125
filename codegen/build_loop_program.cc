#include "codegen/build_loop_program.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "codegen/scalar_code.h"
#include "codegen/staging.h"
#include "codegen/tile_function.h"
#include "core/status.h"

namespace mdh {
namespace {

std::shared_ptr<const Block> Share(Block block) {
  return std::make_shared<const Block>(std::move(block));
}

class Builder {
 public:
  explicit Builder(const LoopPlan& plan) : plan_(plan) {}

  LoopProgram Build() {
    for (const StagedCopy& copy : plan_.staged()) {
      const bool whole = copy.layer == InputParameters::kWholeBuffer;
      program_.scratch.push_back({copy.name, plan_.expression().inputs()[copy.input].type,
                                  copy.elements, /*per_thread=*/!whole});
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
    if (plan_.reduction_parts() > 1) {
      for (size_t b = 0; b < plan_.expression().outputs().size(); ++b) {
        const Buffer& buffer = plan_.expression().outputs()[b];
        program_.scratch.push_back(
            {PartialName(b), buffer.type, buffer.elements() * plan_.reduction_parts(), false});
      }
    }
    program_.stages.push_back({"Compute, each thread its share of the parts.", BuildCompute()});
    if (plan_.reduction_parts() > 1) {
      program_.stages.push_back(
          {"Combine the results of the parts along reductions.", BuildCombine()});
    }
    return std::move(program_);
  }

 private:
  struct State {
    std::vector<DimensionRange> ranges;  // of the part that encloses the current position
    std::vector<int64_t> points;         // of the register tile, as far as it is fixed
    std::vector<Index> origins;          // of the register tile
  };

  std::string PartialName(size_t b) const { return plan_.output_name(b) + "_partial"; }

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
    if (parts == 1) {
      Block block;
      block.push_back({If{{{Condition::Kind::kEqual, Index::Variable("thread"), Index(0), ""}},
                          Share(std::move(body)),
                          nullptr}});
      return block;
    }
    Block block;
    block.push_back({DeclareIndex{"part_end", Fraction(parts, "thread + 1")}});
    block.push_back({For{"part", Fraction(parts, "thread"), Index::Variable("part_end"), 1, false,
                         Share(std::move(body))}});
    return block;
  }

  static Index Fraction(int64_t of, const std::string& thread) {
    return Index::Variable(absl::StrCat("mdh_share(", of, ", ", thread, ", threads)"));
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
    block.push_back({DeclareIndex{"slot", slot}});
    for (size_t b = 0; b < plan_.expression().outputs().size(); ++b) {
      const Buffer& buffer = plan_.expression().outputs()[b];
      block.push_back({DeclarePointer{PartialName(b) + "_slot", buffer.type, false, PartialName(b),
                                      Index::Variable("slot") * buffer.elements()}});
    }
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
                         false, Share(std::move(body))}});
  }

  // Whole register tiles in a loop, then the partial one at the end of the dimension.
  void EmitTileLoop(size_t n, const State& state, Block& block) {
    const PlannedLoop& loop = plan_.outer_loops()[n];
    const int d = loop.dimension;
    const int64_t rest = plan_.remainder(d);
    const DimensionRange& range = state.ranges[d];
    State inside = state;
    inside.points[d] = loop.step;
    inside.origins[d] = Index::Variable(loop.variable);
    Block body;
    EmitLoops(n + 1, inside, body);
    block.push_back(
        {For{loop.variable, range.begin, range.end, loop.step, rest != 0, Share(std::move(body))}});
    if (rest == 0) return;
    inside.points[d] = rest;
    Block rest_body;
    rest_body.push_back({DeclareIndex{loop.variable, Index(plan_.size(d) - rest)}});
    EmitLoops(n + 1, inside, rest_body);
    std::vector<Condition> conditions;
    if (!range.end.is_constant()) {
      conditions.push_back({Condition::Kind::kEqual, range.end, Index(plan_.size(d)), ""});
    }
    block.push_back({If{conditions, Share(std::move(rest_body)), nullptr}});
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
      conditions.push_back({Condition::Kind::kEqual, Index::Variable(variable), begin, ""});
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
    std::vector<int64_t> key = points;
    auto [position, inserted] = tiles_.try_emplace(key, tile_parameters_.size());
    if (inserted) {
      TileFunction tile = BuildTileFunction(plan_, points, !first.empty());
      tile_parameters_.push_back({tile.function.name, tile.parameters});
      program_.functions.push_back(std::move(tile.function));
    }
    const auto& [name, parameters] = tile_parameters_[position->second];
    std::vector<std::string> arguments;
    for (const TileParameter& p : parameters) {
      arguments.push_back(Argument(p, state, origins));
    }
    if (!first.empty()) block.push_back({DeclareFlag{"first", first}});
    block.push_back({Call{name, std::move(arguments)}});
  }

  std::string Argument(const TileParameter& p, const State& state,
                       const std::vector<Index>& origins) const {
    switch (p.role) {
      case TileParameter::Role::kOutput:
        return plan_.reduction_parts() > 1 ? PartialName(p.index) + "_slot" : p.parameter.name;
      case TileParameter::Role::kOrigin:
        return origins[p.index].ToString();
      case TileParameter::Role::kRangeBegin:
        return state.ranges[p.index].begin.ToString();
      case TileParameter::Role::kRangeEnd:
        return state.ranges[p.index].end.ToString();
      default:
        return p.parameter.name;
    }
  }

  // ---- Second stage of reductions over cores ----

  Block BuildCombine() {
    Block block;
    std::vector<int> dimensions;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_reduction(d)) dimensions.push_back(d);
    }
    // The longest dimension is shared among the threads.
    std::stable_sort(dimensions.begin(), dimensions.end(),
                     [&](int a, int b) { return plan_.size(a) > plan_.size(b); });
    std::vector<Index> at(plan_.rank(), Index(0));
    for (const int d : dimensions) {
      if (plan_.size(d) > 1) at[d] = Index::Variable(plan_.index_name(d));
    }
    Block body = CombineSlots(at);
    for (size_t n = dimensions.size(); n-- > 0;) {
      const int d = dimensions[n];
      if (plan_.size(d) == 1) continue;
      const bool outermost = n == 0;
      const Index begin = outermost ? Fraction(plan_.size(d), "thread") : Index(0);
      const Index end = outermost ? Fraction(plan_.size(d), "thread + 1") : Index(plan_.size(d));
      Block loop;
      loop.push_back({For{plan_.index_name(d), begin, end, 1, false, Share(std::move(body))}});
      body = std::move(loop);
    }
    const bool shared = !dimensions.empty() && plan_.size(dimensions[0]) > 1;
    if (shared) return body;
    block.push_back({If{{{Condition::Kind::kEqual, Index::Variable("thread"), Index(0), ""}},
                        Share(std::move(body)),
                        nullptr}});
    return block;
  }

  Block CombineSlots(const std::vector<Index>& at) {
    const Expression& expression = plan_.expression();
    const int results = static_cast<int>(expression.function().results().size());
    NameAllocator names;
    for (int d = 0; d < plan_.rank(); ++d) names.Reserve(plan_.index_name(d));
    auto element = [&](int r) {
      const Expression::AccessRef ref = expression.output_access(r);
      const AffineIndex linear = expression.outputs()[ref.buffer].Linearized(ref.access);
      Index offset(0);
      for (int d = 0; d < plan_.rank(); ++d) {
        if (!plan_.is_reduction(d)) offset = offset + at[d] * linear.coefficients[d];
      }
      return std::pair(ref.buffer, offset + Index(linear.constant));
    };
    auto load = [&](int r, const Index& slot) {
      const auto [buffer, offset] = element(r);
      const Buffer& output = expression.outputs()[buffer];
      return MakeLoad(PartialName(buffer), slot * output.elements() + offset, {output.type, 1}, 1);
    };
    Block body, loop;
    std::vector<Value> total, next;
    for (int r = 0; r < results; ++r) {
      const std::string name = names.Unique(absl::StrCat("total", r));
      const Value first = load(r, Index(0));
      body.push_back({DeclareValue{name, first, true}});
      total.push_back(MakeNamed(name, first->type));
      const std::string next_name = names.Unique(absl::StrCat("next", r));
      const Value value = load(r, Index::Variable("slot"));
      loop.push_back({DeclareValue{next_name, value}});
      next.push_back(MakeNamed(next_name, value->type));
    }
    std::vector<Value> combined = EmitCombination(expression.reduction(), total, next, names, loop);
    for (int r = 0; r < results; ++r) {
      const std::string name = names.Unique("t");
      loop.push_back({DeclareValue{name, combined[r]}});
      combined[r] = MakeNamed(name, combined[r]->type);
    }
    for (int r = 0; r < results; ++r) {
      loop.push_back({Assign{std::get<NamedValue>(total[r]->form).name, combined[r]}});
    }
    body.push_back(
        {For{"slot", Index(1), Index(plan_.reduction_parts()), 1, false, Share(std::move(loop))}});
    for (int r = 0; r < results; ++r) {
      const auto [buffer, offset] = element(r);
      body.push_back({StoreElements{plan_.output_name(buffer), offset, total[r], 1}});
    }
    return body;
  }

  const LoopPlan& plan_;
  LoopProgram program_;
  std::map<std::vector<int64_t>, size_t> tiles_;
  std::vector<std::pair<std::string, std::vector<TileParameter>>> tile_parameters_;
};

}  // namespace

LoopProgram BuildLoopProgram(const LoopPlan& plan) { return Builder(plan).Build(); }

}  // namespace mdh

#include "codegen/lower/tiles/tile_function.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/tile_accumulators.h"
#include "codegen/lower/tiles/tile_order.h"
#include "codegen/lower/tiles/tile_registers.h"
#include "codegen/lower/tiles/tile_shape.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

// Fewer points than one in so many are not worth unrolled reductions: half of a compiler's time
// would go into tiles at the edges.
constexpr int64_t kRarePoints = 8;

class TileFunctionBuilder {
 public:
  TileFunctionBuilder(const LoopPlan& plan, const std::vector<int64_t>& points, TilePlace place,
                      bool accumulates)
      : plan_(plan),
        points_(points),
        place_(place),
        accumulates_(accumulates),
        inputs_(plan, place, origin_, names_),
        registers_(plan, points_, origin_, inputs_, names_),
        leaves_out_at_(PlaceOfOutside()) {
    ReserveNames();
    DeclareParameters();
  }

  TileFunction Build() {
    const std::vector<int>& reductions = plan_.inner_reductions();
    const bool has_loops = !std::ranges::all_of(reductions, [&](int d) { return RunsOnce(d); });
    TileAccumulators accumulators(plan_, points_, has_loops, names_);
    Block computation;
    Block& body = result_.function.body;
    if (plan_.shares_excess()) CountExcess(accumulators, body);
    if (is_on_tiles()) registers_.Begin(accumulates_, body);
    EmitReduction(0, accumulators, computation);
    accumulators.Declare(body);
    if (accumulates_ && plan_.prefetch() > 0) accumulators.PrefetchResults(origin_, body);
    for (Statement& statement : computation) body.push_back(std::move(statement));
    if (is_on_tiles()) {
      registers_.StoreResults(accumulates_, body);
    } else {
      accumulators.StoreResults(origin_, accumulates_, body);
    }
    result_.function.name = Name();
    result_.function.stands_alone = plan_.dot() != nullptr && (has_loops || is_on_tiles());
    for (const TileParameter& p : result_.parameters) {
      result_.function.parameters.push_back(p.parameter);
    }
    return std::move(result_);
  }

 private:
  const Expression& expression() const { return plan_.expression(); }
  bool is_on_tiles() const { return plan_.dot_tiles() != nullptr; }
  // The inner reduction is one block of static size: no loop.
  bool RunsOnce(int d) const {
    return CoversWholeDimension(plan_, d) && plan_.register_tile(d) == plan_.size(d);
  }

  // Tiles at an edge that have few of all points.
  bool IsRare() const {
    double share = 1;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (plan_.is_inner_reduction(d) || points_[d] == plan_.register_tile(d)) continue;
      share *= static_cast<double>(points_[d]) / static_cast<double>(plan_.size(d));
    }
    return share * kRarePoints < 1;
  }

  bool HasStripsAlong(int d) const {
    return std::ranges::any_of(plan_.staged(),
                               [d](const StagedCopy& copy) { return copy.strip_of == d; });
  }

  // Of the loop along inner reduction d. Lanes and chains of accumulators need all of its points,
  // and addresses within strips are relative to where a strip begins.
  int64_t StepAlong(int d) const {
    if (is_on_tiles()) return plan_.register_tile(d);
    const bool is_free =
        d != plan_.vector_dimension() && !plan_.independent_accumulators() && !HasStripsAlong(d);
    if (!is_free || !IsRare()) return plan_.register_tile(d);
    const bool has_words = plan_.dot() != nullptr && plan_.dot()->dimension == d;
    return has_words ? std::min<int64_t>(plan_.dot()->group, plan_.register_tile(d)) : 1;
  }

  bool IsInnermostLoop(int n) const {
    const std::vector<int>& reductions = plan_.inner_reductions();
    return std::all_of(reductions.begin() + n + 1, reductions.end(),
                       [&](int d) { return RunsOnce(d); });
  }

  void ReserveNames() {
    for (int d = 0; d < plan_.rank(); ++d) names_.Reserve(plan_.index_name(d));
    for (size_t b = 0; b < expression().passed_inputs().size(); ++b) {
      names_.Reserve(plan_.input_name(b));
    }
    for (size_t b = 0; b < expression().outputs().size(); ++b) names_.Reserve(plan_.output_name(b));
    for (const StagedCopy& copy : plan_.staged()) names_.Reserve(copy.name);
    for (const ResultTarget& target : plan_.targets()) names_.Reserve(target.pointer);
    for (const Statement& view : plan_.views()) names_.Reserve(*DeclaredName(view));
    for (const PlannedLoop& loop : plan_.outer_loops()) names_.Reserve(loop.variable);
    if (plan_.shares_excess()) names_.Reserve(plan_.excess_name());
    names_.Reserve("uncounted");
    names_.Reserve("finite");
    names_.Reserve("first");
    names_.Reserve("last");
    names_.Reserve("empty");
    names_.Reserve("row");
  }

  std::string Name() const {
    std::string name = "tile";
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_inner_reduction(d) && points_[d] > 1) {
        absl::StrAppend(&name, "_", plan_.index_name(d), points_[d]);
      }
    }
    if (name == "tile") name = "tile_1";
    const std::vector<Buffer>& inputs = expression().inputs();
    const bool has_boundary = std::ranges::any_of(
        inputs, [](const Buffer& buffer) { return buffer.boundary.kind != Boundary::Kind::kNone; });
    return has_boundary && place_ == TilePlace::kAnywhere ? name + "_anywhere" : name;
  }

  void AddPointer(TileParameter::Role role, int index, const std::string& name,
                  const ElementType& type) {
    const bool is_written =
        role == TileParameter::Role::kOutput || role == TileParameter::Role::kExcess;
    const auto kind = is_written ? Parameter::Kind::kOutput : Parameter::Kind::kInput;
    result_.parameters.push_back({role, index, {kind, name, type.scalar(), type.is_record()}});
  }
  // Inputs of one name (WithSeparateAccesses) are one argument.
  bool IsDeclared(const std::string& name) const {
    return std::ranges::any_of(result_.parameters,
                               [&](const TileParameter& p) { return p.parameter.name == name; });
  }
  void AddIndex(TileParameter::Role role, int index, const std::string& name) {
    result_.parameters.push_back({role, index, {Parameter::Kind::kIndex, name}});
  }

  // What the store function reads and f does not, or from a copy only.
  void DeclareStoreInputs() {
    if (!plan_.tiles_store()) return;
    const std::vector<Buffer>& read = expression().store()->inputs;
    for (size_t b = 0; b < read.size(); ++b) {
      const int passed = expression().passed_store_input(static_cast<int>(b));
      const bool is_input = passed < static_cast<int>(expression().inputs().size());
      if (is_input && plan_.StagedInput(passed) == nullptr) continue;
      if (IsDeclared(plan_.input_name(passed))) continue;
      AddPointer(TileParameter::Role::kInput, passed, plan_.input_name(passed), read[b].type);
    }
  }

  void DeclareParameters() {
    for (size_t b = 0; b < expression().inputs().size(); ++b) {
      const int index = static_cast<int>(b);
      const ElementType& type = expression().inputs()[b].type;
      if (const StagedCopy* copy = plan_.StagedInput(index)) {
        AddPointer(TileParameter::Role::kStaged, index, copy->name,
                   copy->group > 1 ? ElementType(copy->type) : type);
        if (plan_.prefetch() == 0 || copy->next == 0 || IsDeclared(plan_.input_name(index))) {
          continue;
        }
        AddPointer(TileParameter::Role::kInput, index, plan_.input_name(index), type);
      } else if (!IsDeclared(plan_.input_name(index))) {
        AddPointer(TileParameter::Role::kInput, index, plan_.input_name(index), type);
      }
    }
    DeclareStoreInputs();
    const bool uses_arrays = plan_.uses_result_arrays();
    if (uses_arrays) {
      for (size_t r = 0; r < plan_.targets().size(); ++r) {
        AddPointer(TileParameter::Role::kOutput, static_cast<int>(r), plan_.targets()[r].pointer,
                   plan_.targets()[r].type);
      }
    }
    if (!uses_arrays || plan_.stores_at_last()) {
      for (size_t b = 0; b < expression().outputs().size(); ++b) {
        AddPointer(TileParameter::Role::kOutput, static_cast<int>(b), plan_.output_name(b),
                   expression().outputs()[b].type);
      }
    }
    for (int d = 0; d < plan_.rank(); ++d) {
      origin_.push_back(Index(0));
      const std::string& name = plan_.index_name(d);
      if (plan_.is_inner_reduction(d)) {
        if (!CoversWholeDimension(plan_, d)) {
          AddIndex(TileParameter::Role::kRangeBegin, d, name + "_begin");
          AddIndex(TileParameter::Role::kRangeEnd, d, name + "_end");
        }
      } else if (plan_.register_tile(d) != plan_.size(d)) {
        AddIndex(TileParameter::Role::kOrigin, d, name);
        origin_[d] = Index::Variable(name);
      }
    }
    std::vector<std::string> variables;
    for (const StagedCopy& copy : plan_.staged()) {
      if (copy.layer == InputParameters::kWholeBuffer) continue;
      for (int d = 0; d < plan_.rank(); ++d) {
        if (!expression().inputs()[copy.input].DependsOn(d)) continue;
        const std::string name = StagedOriginName(plan_, copy, d);
        if (name.empty() || std::ranges::find(variables, name) != variables.end()) continue;
        variables.push_back(name);
        AddIndex(TileParameter::Role::kVariable, d, name);
      }
    }
    if (plan_.shares_excess()) {
      AddPointer(TileParameter::Role::kExcess, 0, plan_.excess_name(), ScalarType::kInt32);
      result_.parameters.push_back(
          {TileParameter::Role::kUncounted, 0, {Parameter::Kind::kFlag, "uncounted"}});
    }
    if (leaves_out_at_ >= 0) {
      result_.parameters.push_back(
          {TileParameter::Role::kFinite, 0, {Parameter::Kind::kFlag, "finite"}});
    }
    if (accumulates_) {
      result_.parameters.push_back(
          {TileParameter::Role::kFirst, 0, {Parameter::Kind::kFlag, "first"}});
    }
    if (plan_.stores_at_last()) {
      result_.parameters.push_back(
          {TileParameter::Role::kLast, 0, {Parameter::Kind::kFlag, "last"}});
    }
  }

  // A pass over the words that have lanes only, in the first of the tiles that share them.
  void CountExcess(TileAccumulators& accumulators, Block& body) {
    Block pass, counting;
    counts_excess_ = true;
    EmitReduction(0, accumulators, pass);
    counts_excess_ = false;
    accumulators.DeclareExcesses(counting);
    for (Statement& statement : pass) counting.push_back(std::move(statement));
    accumulators.StoreExcesses(counting);
    body.push_back(
        When({{Condition::Kind::kFlag, Index(0), Index(0), "uncounted"}}, std::move(counting)));
  }

  // ---- Products with zeros ----

  // The inner reduction from which on no loop changes which rows of zeros a tile reads; -1: tiles
  // read none, or do all at once.
  int PlaceOfOutside() const {
    if (plan_.outside_products() == nullptr || place_ == TilePlace::kInside) return -1;
    const std::vector<int>& reductions = plan_.inner_reductions();
    int at = -1;
    for (int n = 0; n < std::ssize(reductions); ++n) {
      if (RunsOnce(reductions[n])) continue;
      at = std::max(at, 0);
      if (IsOutsideAlong(reductions[n])) at = n + 1;
    }
    return at;
  }

  const Buffer& Zeros() const { return expression().inputs()[plan_.outside_products()->zeros]; }

  // Whether dimension d moves an index that may be outside.
  bool IsOutsideAlong(int d) const {
    const Buffer& zeros = Zeros();
    for (size_t x = 0; x < zeros.extents.size(); ++x) {
      const AffineIndex& index = zeros.accesses[0].indices[x];
      if (index.coefficients[d] != 0 && MayBeOutside(index, zeros.extents[x])) return true;
    }
    return false;
  }

  bool MayBeOutside(const AffineIndex& index, int64_t extent) const {
    int64_t low = index.constant, high = low;
    for (int d = 0; d < plan_.rank(); ++d) {
      const int64_t reach = index.coefficients[d] * (plan_.size(d) - 1);
      (reach < 0 ? low : high) += reach;
    }
    return low < 0 || high >= extent;
  }

  // What is added up at the place at hand, unless it is all with zeros.
  void EmitUnlessOutside(Block products, Block& block) {
    std::vector<Index> last;
    for (int d = 0; d < plan_.rank(); ++d) {
      const bool is_whole = plan_.is_inner_reduction(d) && RunsOnce(d);
      last.push_back(origin_[d] + Index((is_whole ? plan_.size(d) : points_[d]) - 1));
    }
    const Buffer& zeros = Zeros();
    std::vector<Condition> reaches;
    for (size_t x = 0; x < zeros.extents.size(); ++x) {
      const AffineIndex& index = zeros.accesses[0].indices[x];
      if (!MayBeOutside(index, zeros.extents[x])) continue;
      const auto [low, high] = BoundsOf(index, origin_, last);
      reaches.push_back(Less(Index(-1), high));
      reaches.push_back(Less(low, Index(zeros.extents[x])));
    }
    const std::string reached = names_.Unique("reached"), zero = names_.Unique("zero");
    block.push_back({DeclareFlag{reached, std::move(reaches)}});
    block.push_back({DeclareFlag{zero,
                                 {{Condition::Kind::kFlag, Index(0), Index(0), "finite"},
                                  {Condition::Kind::kNotFlag, Index(0), Index(0), reached}}}});
    block.push_back(
        When({{Condition::Kind::kNotFlag, Index(0), Index(0), zero}}, std::move(products)));
  }

  // ---- Reductions ----

  void EmitReduction(int n, TileAccumulators& accumulators, Block& block) {
    if (n != leaves_out_at_ || counts_excess_) return EmitLoops(n, accumulators, block);
    Block products;
    EmitLoops(n, accumulators, products);
    EmitUnlessOutside(std::move(products), block);
  }

  void EmitLoops(int n, TileAccumulators& accumulators, Block& block) {
    if (n == std::ssize(plan_.inner_reductions())) return EmitPoints(accumulators, block);
    const int d = plan_.inner_reductions()[n];
    if (RunsOnce(d)) {
      points_[d] = plan_.register_tile(d);
      origin_[d] = Index(0);
      return EmitReduction(n + 1, accumulators, block);
    }
    const int64_t step = StepAlong(d);
    const std::string& name = plan_.index_name(d);
    const bool whole = CoversWholeDimension(plan_, d);
    const Index begin = whole ? Index(0) : Index::Variable(name + "_begin");
    const Index end = whole ? Index(plan_.size(d)) : Index::Variable(name + "_end");
    const int64_t rest = plan_.size(d) % step;
    origin_[d] = Index::Variable(name);
    points_[d] = step;
    Block loop_body;
    if (IsInnermostLoop(n)) inputs_.PrefetchAlong(d, step, plan_.prefetch());
    EmitReduction(n + 1, accumulators, loop_body);
    inputs_.PrefetchAlong(d, step, 0);
    block.push_back({For{name, begin, end, step, rest != 0,
                         std::make_shared<const Block>(std::move(loop_body))}});
    if (rest == 0) return;
    points_[d] = rest;
    Block rest_body;
    rest_body.push_back({DeclareIndex{name, Index(plan_.size(d) - rest)}});
    EmitReduction(n + 1, accumulators, rest_body);
    std::vector<Condition> conditions;
    if (!whole) conditions.push_back(Equal(end, Index(plan_.size(d))));
    block.push_back(When(conditions, std::move(rest_body)));
  }

  void EmitPoints(TileAccumulators& accumulators, Block& block) {
    inputs_.StartBlock();
    if (plan_.prefetch() > 0) inputs_.RequestNextParts(points_, block);
    if (is_on_tiles()) return registers_.Multiply(block);
    const std::vector<TilePoint> steps = TileBox(plan_, points_, /*reduced=*/true);
    const std::vector<TilePoint> points = TileBox(plan_, points_, /*reduced=*/false);
    for (const TileVisit& visit : OrderOfTile(plan_, steps, points)) {
      const TilePoint& step = steps[visit.step];
      const TilePoint at = JoinPoints(plan_, points[visit.point], step);
      if (plan_.dot() != nullptr) {
        EmitDot(at, visit, points[visit.point], step, accumulators, block);
        continue;
      }
      const NarrowReduction* narrow = plan_.narrow_reduction();
      std::vector<LoopValue> values;
      if (narrow != nullptr && narrow->is_extreme()) {
        values = {inputs_.Load(narrow->parameter, at, block)};
      } else {
        values = EmitFunction(
            narrow == nullptr ? plan_.function() : narrow->operands,
            [&](int p) { return inputs_.Load(p, at, block); }, names_, block);
      }
      accumulators.Accumulate(points[visit.point], step, visit.step, std::move(values), block);
    }
    accumulators.EndBlock(block);
  }

  void EmitDot(const TilePoint& at, const TileVisit& visit, const TilePoint& point,
               const TilePoint& step, TileAccumulators& accumulators, Block& block) {
    const DotSides& sides = plan_.dot_sides();
    if (counts_excess_) {
      return accumulators.CountExcess(point, step, inputs_.LoadWord(sides.vector, at, block),
                                      block);
    }
    accumulators.AddDot(point, step, visit.step,
                        {.broadcast = inputs_.LoadWord(sides.broadcast, at, block),
                         .vector = inputs_.LoadWord(sides.vector, at, block)},
                        block);
  }

  const LoopPlan& plan_;
  std::vector<int64_t> points_;
  const TilePlace place_;
  const bool accumulates_;
  bool counts_excess_ = false;
  TileFunction result_;
  NameAllocator names_;
  std::vector<Index> origin_;
  TileInputs inputs_;
  TileRegisters registers_;
  const int leaves_out_at_;
};

}  // namespace

bool CoversWholeDimension(const LoopPlan& plan, int d) {
  if (plan.core_parts(d) > 1) return false;
  return std::ranges::all_of(plan.outer_loops(),
                             [&](const PlannedLoop& loop) { return loop.dimension != d; });
}

TileFunction BuildTileFunction(const LoopPlan& plan, const std::vector<int64_t>& points,
                               TilePlace place, bool accumulates) {
  return TileFunctionBuilder(plan, points, place, accumulates).Build();
}

}  // namespace mdh

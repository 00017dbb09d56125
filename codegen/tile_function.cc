#include "codegen/tile_function.h"

#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/scalar_code.h"

namespace mdh {
namespace {

// A box of points with static offsets: one piece per dimension.
struct TilePoint {
  std::vector<TilePiece> pieces;
  int width() const {
    int lanes = 1;
    for (const TilePiece& piece : pieces) lanes = std::max(lanes, piece.width);
    return lanes;
  }
};

// Where an input is read: base (symbolic) plus a static part per unrolled step of each dimension.
struct Address {
  std::string pointer;
  Index base = Index(0);
  int64_t constant = 0;
  std::vector<int64_t> step;   // elements per unrolled step
};

class Builder {
 public:
  Builder(const LoopPlan& plan, const std::vector<int64_t>& points, bool accumulates)
      : plan_(plan), points_(points), accumulates_(accumulates) {
    for (int d = 0; d < plan.rank(); ++d) names_.Reserve(plan.index_name(d));
    for (size_t b = 0; b < plan.expression().inputs().size(); ++b) {
      names_.Reserve(plan.input_name(b));
    }
    for (size_t b = 0; b < plan.expression().outputs().size(); ++b) {
      names_.Reserve(plan.output_name(b));
    }
    for (const StagedCopy& copy : plan.staged()) names_.Reserve(copy.name);
    for (const PlannedLoop& loop : plan.outer_loops()) names_.Reserve(loop.variable);
    names_.Reserve("first");
    names_.Reserve("empty");
  }

  TileFunction Build() {
    DeclareParameters();
    has_loops_ = false;
    for (const int d : plan_.inner_reductions()) has_loops_ |= !RunsOnce(d);
    Block computation;
    EmitReduction(0, computation);
    Block& body = result_.function.body;
    DeclareAccumulators(body);
    for (Statement& statement : computation) body.push_back(std::move(statement));
    EmitResults(body);
    result_.function.name = Name();
    for (const TileParameter& p : result_.parameters) {
      result_.function.parameters.push_back(p.parameter);
    }
    return std::move(result_);
  }

 private:
  const Expression& expression() const { return plan_.expression(); }
  int results() const { return static_cast<int>(expression().function().results().size()); }
  bool HasIdentity() const { return expression().reduction().identity().has_value(); }
  // The inner reduction is one block of static size: no loop.
  bool RunsOnce(int d) const {
    return CoversWholeDimension(plan_, d) && plan_.register_tile(d) == plan_.size(d);
  }

  std::string Name() const {
    std::string name = "tile";
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_inner_reduction(d) && points_[d] > 1) {
        absl::StrAppend(&name, "_", plan_.index_name(d), points_[d]);
      }
    }
    return name == "tile" ? "tile_1" : name;
  }

  void AddPointer(TileParameter::Role role, int index, const std::string& name, ScalarType type) {
    const auto kind = role == TileParameter::Role::kOutput ? Parameter::Kind::kOutput
                                                           : Parameter::Kind::kInput;
    result_.parameters.push_back({role, index, {kind, name, type}});
  }
  void AddIndex(TileParameter::Role role, int index, const std::string& name) {
    result_.parameters.push_back({role, index, {Parameter::Kind::kIndex, name}});
  }

  void DeclareParameters() {
    for (size_t b = 0; b < expression().inputs().size(); ++b) {
      const int index = static_cast<int>(b);
      const ScalarType type = expression().inputs()[b].type;
      if (const StagedCopy* copy = plan_.StagedInput(index)) {
        AddPointer(TileParameter::Role::kStaged, index, copy->name, type);
      } else {
        AddPointer(TileParameter::Role::kInput, index, plan_.input_name(index), type);
      }
    }
    for (size_t b = 0; b < expression().outputs().size(); ++b) {
      AddPointer(TileParameter::Role::kOutput, static_cast<int>(b), plan_.output_name(b),
                 expression().outputs()[b].type);
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
        if (!DependsOn(expression().inputs()[copy.input], d)) continue;
        const std::string name = StagedOriginName(plan_, copy, d);
        if (name.empty() || std::find(variables.begin(), variables.end(), name) != variables.end()) {
          continue;
        }
        variables.push_back(name);
        AddIndex(TileParameter::Role::kVariable, d, name);
      }
    }
    if (accumulates_) {
      result_.parameters.push_back({TileParameter::Role::kFirst, 0, {Parameter::Kind::kFlag, "first"}});
    }
  }

  // ---- Reductions inside the tile ----

  void EmitReduction(size_t n, Block& block) {
    if (n == plan_.inner_reductions().size()) return EmitPoints(block);
    const int d = plan_.inner_reductions()[n];
    const int64_t step = plan_.register_tile(d);
    if (RunsOnce(d)) {
      points_[d] = step;
      origin_[d] = Index(0);
      return EmitReduction(n + 1, block);
    }
    const std::string& name = plan_.index_name(d);
    const bool whole = CoversWholeDimension(plan_, d);
    const Index begin = whole ? Index(0) : Index::Variable(name + "_begin");
    const Index end = whole ? Index(plan_.size(d)) : Index::Variable(name + "_end");
    const int64_t rest = plan_.remainder(d);
    origin_[d] = Index::Variable(name);
    points_[d] = step;
    Block loop_body;
    EmitReduction(n + 1, loop_body);
    block.push_back({For{name, begin, end, step, rest != 0,
                         std::make_shared<const Block>(std::move(loop_body))}});
    if (rest == 0) return;
    points_[d] = rest;
    Block rest_body;
    rest_body.push_back({DeclareIndex{name, Index(plan_.size(d) - rest)}});
    EmitReduction(n + 1, rest_body);
    std::vector<Condition> conditions;
    if (!whole) {
      conditions.push_back({Condition::Kind::kEqual, end, Index(plan_.size(d)), ""});
    }
    block.push_back({If{conditions, std::make_shared<const Block>(std::move(rest_body)), nullptr}});
  }

  std::vector<TilePoint> Box(bool reduced) const {
    std::vector<TilePoint> box(1);
    box[0].pieces.assign(plan_.rank(), {0, 1});
    // The vector dimension varies fastest, so that loads of one row are next to each other.
    std::vector<int> dimensions;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (plan_.is_reduction(d) == reduced && d != plan_.vector_dimension()) dimensions.push_back(d);
    }
    const int v = plan_.vector_dimension();
    if (v >= 0 && plan_.is_reduction(v) == reduced) dimensions.push_back(v);
    for (const int d : dimensions) {
      std::vector<TilePoint> next;
      for (const TilePoint& point : box) {
        for (const TilePiece& piece : plan_.Pieces(d, points_[d])) {
          next.push_back(point);
          next.back().pieces[d] = piece;
        }
      }
      box = std::move(next);
    }
    return box;
  }

  static TilePoint Join(const TilePoint& a, const TilePoint& b, const LoopPlan& plan) {
    TilePoint joined = a;
    for (int d = 0; d < plan.rank(); ++d) {
      if (plan.is_reduction(d)) joined.pieces[d] = b.pieces[d];
    }
    return joined;
  }

  void EmitPoints(Block& block) {
    loads_.clear();
    bases_.clear();
    const std::vector<TilePoint> steps = Box(/*reduced=*/true);
    const std::vector<TilePoint> points = Box(/*reduced=*/false);
    for (size_t s = 0; s < steps.size(); ++s) {
      for (const TilePoint& point : points) {
        const TilePoint joined = Join(point, steps[s], plan_);
        std::vector<Value> values = EmitFunction(
            expression().function(), [&](int p) { return EmitLoad(p, joined, block); }, names_,
            block);
        Accumulate(point, steps[s], s, std::move(values), block);
      }
    }
    if (has_loops_ && !HasIdentity()) block.push_back({ClearFlag{"empty"}});
  }

  // ---- Inputs ----

  Address InputAddress(int parameter) const {
    const Expression::AccessRef ref = expression().input_access(parameter);
    const Buffer& buffer = expression().inputs()[ref.buffer];
    Address address;
    address.step.assign(plan_.rank(), 0);
    const StagedCopy* copy = plan_.StagedInput(ref.buffer);
    if (copy == nullptr) {
      address.pointer = plan_.input_name(ref.buffer);
      const AffineIndex linear = buffer.Linearized(ref.access);
      address.constant = linear.constant;
      for (int d = 0; d < plan_.rank(); ++d) {
        address.base = address.base + origin_[d] * linear.coefficients[d];
        address.step[d] = linear.coefficients[d];
      }
      return address;
    }
    address.pointer = copy->name;
    for (size_t x = 0; x < buffer.extents.size(); ++x) {
      const AffineIndex& index = buffer.accesses[ref.access].indices[x];
      const bool strip = static_cast<int>(x) == copy->strip_dimension;
      address.constant += copy->strides[x] * (index.constant - CopyConstant(buffer, *copy, x));
      for (int d = 0; d < plan_.rank(); ++d) {
        const int64_t coefficient = index.coefficients[d];
        if (coefficient == 0) continue;
        address.base = address.base +
                       (origin_[d] - CopyOrigin(*copy, d)) * (coefficient * copy->strides[x]);
        address.step[d] += coefficient * (strip ? 1 : copy->strides[x]);
      }
    }
    return address;
  }

  Index CopyOrigin(const StagedCopy& copy, int d) const {
    if (copy.layer == InputParameters::kWholeBuffer) return Index(0);
    const std::string name = StagedOriginName(plan_, copy, d);
    return name.empty() ? Index(0) : Index::Variable(name);
  }

  static int64_t CopyConstant(const Buffer& buffer, const StagedCopy& copy, size_t x) {
    if (copy.layer == InputParameters::kWholeBuffer) return 0;
    int64_t low = INT64_MAX;
    for (const IndexFunction& access : buffer.accesses) {
      low = std::min(low, access.indices[x].constant);
    }
    return low;
  }

  // The value of a parameter of f at a point; every element is loaded once per block.
  Value EmitLoad(int parameter, const TilePoint& point, Block& block) {
    const Address address = InputAddress(parameter);
    const ScalarType type = expression().function().parameters()[parameter].type;
    int64_t offset = address.constant;
    for (int d = 0; d < plan_.rank(); ++d) offset += address.step[d] * point.pieces[d].offset;
    const int v = plan_.vector_dimension();
    const int64_t stride = v >= 0 ? address.step[v] : 0;
    const int width = v >= 0 && stride != 0 ? point.pieces[v].width : 1;
    const std::string base = address.base.ToString();
    const std::string key = absl::StrJoin({address.pointer, base, absl::StrCat(offset), absl::StrCat(width)}, "|");
    if (const auto known = loads_.find(key); known != loads_.end()) return known->second;

    Index at = address.base;
    if (!at.is_constant() && !at.IsVariable()) {
      std::string& name = bases_[absl::StrCat(address.pointer, "|", base)];
      if (name.empty()) {
        name = names_.Unique(absl::StrCat(address.pointer, "_at"));
        block.push_back({DeclareIndex{name, at}});
      }
      at = Index::Variable(name);
    }
    const ValueType value_type{type, width};
    const std::string name = names_.Unique(absl::StrCat(address.pointer, "_0"));
    block.push_back({DeclareValue{name, MakeLoad(address.pointer, at + Index(offset), value_type, stride)}});
    return loads_[key] = MakeNamed(name, value_type);
  }

  // ---- Accumulators ----

  struct Accumulator {
    TilePoint point;                  // of the results
    int width;
    std::vector<std::string> names;   // one per result
  };

  std::string AccumulatorName(int r, const TilePoint& point, const std::string& suffix) {
    std::string name = plan_.output_name(expression().output_access(r).buffer);
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_reduction(d) && points_[d] > 1) {
        absl::StrAppend(&name, "_", plan_.index_name(d), point.pieces[d].offset);
      }
    }
    return names_.Unique(name + suffix);
  }

  // The accumulator of a point for one unrolled step; made when first asked for.
  Accumulator& AccumulatorOf(const TilePoint& point, const TilePoint& step, size_t step_number,
                             bool& is_new) {
    const int v = plan_.vector_dimension();
    const bool lanes_reduced = v >= 0 && plan_.is_reduction(v);
    const int width = lanes_reduced ? step.pieces[v].width : point.width();
    std::string suffix;
    if (lanes_reduced && width == 1) suffix = "_s";
    if (plan_.independent_accumulators() && step_number > 0 && suffix.empty()) {
      suffix = absl::StrCat("_chain", step_number);
    }
    std::string key = suffix;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (!plan_.is_reduction(d)) absl::StrAppend(&key, "|", point.pieces[d].offset);
    }
    auto [position, inserted] = accumulator_numbers_.try_emplace(key, accumulators_.size());
    is_new = inserted;
    if (inserted) {
      Accumulator accumulator{point, width, {}};
      for (int r = 0; r < results(); ++r) {
        accumulator.names.push_back(AccumulatorName(r, point, suffix));
      }
      accumulators_.push_back(std::move(accumulator));
    }
    return accumulators_[position->second];
  }

  Value Named(const Accumulator& accumulator, int r) const {
    return MakeNamed(accumulator.names[r],
                     {expression().function().results()[r].type, accumulator.width});
  }

  static Value Widen(Value value, int width) {
    return value->type.lanes == width ? value : MakeSplat(std::move(value), width);
  }

  void Accumulate(const TilePoint& point, const TilePoint& step, size_t step_number,
                  std::vector<Value> values, Block& block) {
    bool is_new;
    const Accumulator& accumulator = AccumulatorOf(point, step, step_number, is_new);
    if (!has_loops_ && is_new) {
      for (int r = 0; r < results(); ++r) {
        block.push_back({DeclareValue{accumulator.names[r], Widen(values[r], accumulator.width),
                                      /*is_mutable=*/true}});
      }
      return;
    }
    if (has_loops_ && !HasIdentity() && step_number == 0) {
      // No neutral element: the first point of the reduction starts the accumulator.
      for (Value& value : values) NameIt(value, block);
      Block start, combine;
      for (int r = 0; r < results(); ++r) {
        start.push_back({Assign{accumulator.names[r], Widen(values[r], accumulator.width)}});
      }
      Combine(accumulator, values, combine);
      block.push_back({If{{{Condition::Kind::kFlag, Index(0), Index(0), "empty"}},
                          std::make_shared<const Block>(std::move(start)),
                          std::make_shared<const Block>(std::move(combine))}});
      return;
    }
    Combine(accumulator, values, block);
  }

  void NameIt(Value& value, Block& block) {
    if (std::holds_alternative<NamedValue>(value->form)) return;
    const std::string name = names_.Unique("t");
    block.push_back({DeclareValue{name, value}});
    value = MakeNamed(name, value->type);
  }

  // accumulator = accumulator (+) values.
  void Combine(const Accumulator& accumulator, const std::vector<Value>& values, Block& block) {
    std::vector<Value> left;
    for (int r = 0; r < results(); ++r) left.push_back(Named(accumulator, r));
    AssignTuple(accumulator.names, accumulator.width,
                EmitCombination(expression().reduction(), left, values, names_, block), block);
  }

  // Assigns all at once: with several results, one may depend on the old value of another.
  void AssignTuple(const std::vector<std::string>& targets, int width, std::vector<Value> values,
                   Block& block) {
    if (values.size() > 1) {
      for (Value& value : values) NameIt(value, block);
    }
    for (size_t r = 0; r < values.size(); ++r) {
      block.push_back({Assign{targets[r], Widen(values[r], width)}});
    }
  }

  void DeclareAccumulators(Block& body) {
    if (!has_loops_) return;
    for (const Accumulator& accumulator : accumulators_) {
      for (int r = 0; r < results(); ++r) {
        const ScalarType type = expression().function().results()[r].type;
        const ScalarValue start =
            HasIdentity() ? (*expression().reduction().identity())[r] : ScalarValue::Zero(type);
        body.push_back({DeclareValue{accumulator.names[r],
                                     Widen(MakeLiteral(start), accumulator.width),
                                     /*is_mutable=*/true}});
      }
    }
    if (!HasIdentity()) body.push_back({DeclareFlag{"empty", {}, /*is_mutable=*/true}});
  }

  // ---- Results ----

  // All accumulators of one point combined into the first: vectors over their lanes, then chains.
  void EmitResults(Block& body) {
    std::map<std::string, std::vector<const Accumulator*>> by_point;
    std::vector<std::string> order;
    for (const Accumulator& accumulator : accumulators_) {
      std::string key;
      for (int d = 0; d < plan_.rank(); ++d) {
        if (!plan_.is_reduction(d)) absl::StrAppend(&key, accumulator.point.pieces[d].offset, "|");
      }
      if (!by_point.contains(key)) order.push_back(key);
      by_point[key].push_back(&accumulator);
    }
    struct Final {
      TilePoint point;
      int width;
      std::vector<std::string> names;
    };
    std::vector<Final> finals;
    for (const std::string& key : order) {
      const std::vector<const Accumulator*>& parts = by_point[key];
      const int width = parts[0]->point.width();   // of the results: reduced lanes are gone
      if (parts.size() == 1 && parts[0]->width == width) {
        finals.push_back({parts[0]->point, width, parts[0]->names});
        continue;
      }
      std::vector<Value> total;
      for (const Accumulator* part : parts) {
        std::vector<Value> value = part->width > width ? CombineLanes(*part, body) : Tuple(*part);
        total = total.empty() ? value
                              : EmitCombination(expression().reduction(), total, value, names_, body);
        for (Value& v : total) NameIt(v, body);
      }
      Final final{parts[0]->point, width, {}};
      for (int r = 0; r < results(); ++r) {
        final.names.push_back(AccumulatorName(r, final.point, "_total"));
        body.push_back({DeclareValue{final.names[r], total[r], /*is_mutable=*/true}});
      }
      finals.push_back(std::move(final));
    }
    if (accumulates_) {
      Block add;
      for (const Final& final : finals) {
        std::vector<Value> old, now;
        for (int r = 0; r < results(); ++r) {
          const OutputElement at = ElementOf(r, final.point);
          const ValueType type{expression().function().results()[r].type, final.width};
          Value value = MakeLoad(at.pointer, at.offset, type, at.stride);
          NameIt(value, add);
          old.push_back(value);
          now.push_back(MakeNamed(final.names[r], type));
        }
        AssignTuple(final.names, final.width,
                    EmitCombination(expression().reduction(), old, now, names_, add), add);
      }
      body.push_back({If{{{Condition::Kind::kNotFlag, Index(0), Index(0), "first"}},
                         std::make_shared<const Block>(std::move(add)), nullptr}});
    }
    for (const Final& final : finals) {
      for (int r = 0; r < results(); ++r) {
        const OutputElement at = ElementOf(r, final.point);
        const ValueType type{expression().function().results()[r].type, final.width};
        body.push_back({StoreElements{at.pointer, at.offset, MakeNamed(final.names[r], type), at.stride}});
      }
    }
  }

  std::vector<Value> Tuple(const Accumulator& accumulator) const {
    std::vector<Value> tuple;
    for (int r = 0; r < results(); ++r) tuple.push_back(Named(accumulator, r));
    return tuple;
  }

  // Lane l with lane l + n/2, and again for half of them.
  std::vector<Value> CombineLanes(const Accumulator& accumulator, Block& body) {
    std::vector<std::vector<Value>> lanes;
    for (int l = 0; l < accumulator.width; ++l) {
      std::vector<Value> lane;
      for (int r = 0; r < results(); ++r) lane.push_back(MakeLane(Named(accumulator, r), l));
      lanes.push_back(std::move(lane));
    }
    while (lanes.size() > 1) {
      const size_t half = lanes.size() / 2;
      for (size_t l = 0; l < half; ++l) {
        lanes[l] = EmitCombination(expression().reduction(), lanes[l], lanes[l + half], names_, body);
      }
      lanes.resize(half);
    }
    return lanes[0];
  }

  struct OutputElement {
    std::string pointer;
    Index offset;
    int64_t stride;
  };
  OutputElement ElementOf(int r, const TilePoint& point) const {
    const Expression::AccessRef ref = expression().output_access(r);
    const AffineIndex linear = expression().outputs()[ref.buffer].Linearized(ref.access);
    Index offset(0);
    int64_t constant = linear.constant;
    for (int d = 0; d < plan_.rank(); ++d) {
      if (plan_.is_reduction(d)) continue;   // reduced dimensions are accessed at index 0
      offset = offset + origin_[d] * linear.coefficients[d];
      constant += linear.coefficients[d] * point.pieces[d].offset;
    }
    const int v = plan_.vector_dimension();
    return {plan_.output_name(ref.buffer), offset + Index(constant),
            v >= 0 && !plan_.is_reduction(v) ? linear.coefficients[v] : 1};
  }

  const LoopPlan& plan_;
  std::vector<int64_t> points_;
  const bool accumulates_;
  TileFunction result_;
  NameAllocator names_;
  std::vector<Index> origin_;
  bool has_loops_ = false;
  std::map<std::string, Value> loads_;
  std::map<std::string, std::string> bases_;
  std::vector<Accumulator> accumulators_;
  std::map<std::string, size_t> accumulator_numbers_;
};

}  // namespace

std::string StagedOriginName(const LoopPlan& plan, const StagedCopy& copy, int d) {
  std::string name = plan.core_parts(d) > 1 ? plan.index_name(d) + "_cor" : "";
  for (const PlannedLoop& loop : plan.outer_loops()) {
    if (loop.dimension == d && loop.layer <= copy.layer) name = loop.variable;
  }
  return name;
}

bool CoversWholeDimension(const LoopPlan& plan, int d) {
  if (plan.core_parts(d) > 1) return false;
  for (const PlannedLoop& loop : plan.outer_loops()) {
    if (loop.dimension == d) return false;
  }
  return true;
}

TileFunction BuildTileFunction(const LoopPlan& plan, const std::vector<int64_t>& points,
                               bool accumulates) {
  return Builder(plan, points, accumulates).Build();
}

}  // namespace mdh

#include "codegen/lower/tiles/tile_accumulators.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/combine_lanes.h"

namespace mdh {
namespace {

LoopValue Widen(LoopValue value, int width) {
  return value->type.lanes == width ? value : MakeSplat(std::move(value), width);
}

}  // namespace

ScalarType TileAccumulators::result_type(int r) const {
  return RegisterType(expression().function().results()[r].type);
}

bool TileAccumulators::HasIdentity() const {
  return StartsFromIdentity(plan_.expression(), plan_.numerics());
}

std::string TileAccumulators::PointKey(const TilePoint& point) const {
  std::string key;
  for (int d = 0; d < plan_.rank(); ++d) {
    if (!plan_.is_reduction(d)) absl::StrAppend(&key, point.pieces[d].offset, "|");
  }
  return key;
}

// "C_i0_j8": the output and the offsets within the tile.
std::string TileAccumulators::NameOf(int r, const TilePoint& point, const std::string& suffix) {
  std::string name = ResultName(expression(), plan_.output_names(), r);
  if (expression().store() == nullptr) {
    const Expression::AccessRef ref = expression().output_access(r);
    const ElementType& type = expression().outputs()[ref.buffer].type;
    if (type.is_record()) absl::StrAppend(&name, "_", type.fields()[ref.field].name, "_");
  }
  for (int d = 0; d < plan_.rank(); ++d) {
    if (!plan_.is_reduction(d) && points_[d] > 1) {
      absl::StrAppend(&name, "_", plan_.index_name(d), point.pieces[d].offset);
    }
  }
  return names_.Unique(name + suffix);
}

// The accumulator of a point for one unrolled step, by number; made when first asked for.
size_t TileAccumulators::Find(const TilePoint& point, const TilePoint& step, size_t step_number,
                              bool& is_new) {
  const int v = plan_.vector_dimension();
  const bool lanes_reduced = v >= 0 && plan_.is_reduction(v);
  const int width = !lanes_reduced              ? point.width()
                    : step.pieces[v].width == 1 ? 1
                                                : plan_.accumulator_lanes();
  std::string suffix;
  if (lanes_reduced && step.pieces[v].width == 1) suffix = "_s";  // points that fill no vector
  if (plan_.independent_accumulators() && step_number > 0 && suffix.empty()) {
    suffix = absl::StrCat("_chain", step_number);
  }
  auto [position, inserted] = numbers_.try_emplace(PointKey(point) + suffix, accumulators_.size());
  is_new = inserted;
  if (inserted) {
    Accumulator accumulator{point, width, {}};
    for (int r = 0; r < results(); ++r) accumulator.names.push_back(NameOf(r, point, suffix));
    accumulators_.push_back(std::move(accumulator));
  }
  return position->second;
}

LoopValue TileAccumulators::Named(const Accumulator& accumulator, int r) const {
  return MakeNamed(accumulator.names[r], {result_type(r), accumulator.width});
}

void TileAccumulators::Accumulate(const TilePoint& point, const TilePoint& step, size_t step_number,
                                  std::vector<LoopValue> values, Block& block) {
  const NarrowReduction* narrow = plan_.narrow_reduction();
  if (narrow == nullptr) {
    return AccumulateValues(point, step, step_number, std::move(values), block);
  }
  if (step.pieces[plan_.vector_dimension()].width > 1) {
    if (narrow->is_extreme()) return CombineKeys(point, values[0], block);
    return AddNarrow(point, step, step_number, values, block);
  }
  for (LoopValue& value : values) {
    if (value->type.scalar == narrow->result) continue;
    value = MakeOperation(ScalarOp::kCast, narrow->result, {std::move(value)});
  }
  if (values.size() == 2) values = {MakeOperation(ScalarOp::kMul, narrow->result, values)};
  AccumulateValues(point, step, step_number, std::move(values), block);
}

// Of the least key for a maximum, of the greatest for a minimum: those of nan, which is the result
// if it is among the operands, lie beyond all others, where the infinity that is neutral lies last.
LoopValue TileAccumulators::FirstKeys() const {
  const bool is_minimum = plan_.narrow_reduction()->kind == PointWiseKind::kMin;
  const ScalarValue first =
      ScalarValue::Integer(ScalarType::kUint16, is_minimum ? int64_t{0xffff} : int64_t{0});
  return MakeSplat(MakeLiteral(first), plan_.lanes());
}

void TileAccumulators::CombineKeys(const TilePoint& point, LoopValue value, Block& block) {
  const NarrowReduction& narrow = *plan_.narrow_reduction();
  const bool is_minimum = narrow.kind == PointWiseKind::kMin;
  const ScalarType half = narrow.operands.parameters()[narrow.parameter].type;
  if (value->type.scalar != half) value = MakeOperation(ScalarOp::kCast, half, {std::move(value)});
  const LoopValue keys = MakeOrderKeys(Widen(std::move(value), plan_.lanes()), is_minimum);
  const auto [position, is_new] = key_extremes_.try_emplace(PointKey(point), KeyExtreme{point, ""});
  std::string& name = position->second.name;
  if (is_new) name = NameOf(0, point, "_keys");
  if (is_new && !has_loops_) {
    block.push_back({DeclareValue{name, keys, /*is_mutable=*/true}});
    return;
  }
  block.push_back(
      {Assign{name, MakeOperation(is_minimum ? ScalarOp::kMin : ScalarOp::kMax, ScalarType::kUint16,
                                  {MakeNamed(name, keys->type), keys})}});
}

// The keys become values, of which halves of the lanes are combined: an accumulator like others.
void TileAccumulators::EndKeys(Block& body) {
  for (const auto& [key, extreme] : key_extremes_) {
    const NarrowReduction& narrow = *plan_.narrow_reduction();
    const LoopValue keys = MakeNamed(extreme.name, FirstKeys()->type);
    const ScalarType half = narrow.operands.parameters()[narrow.parameter].type;
    const LoopValue values = NamedInBlock(
        MakeOrderedHalves(keys, half, narrow.kind == PointWiseKind::kMin), names_, body);
    std::vector<std::vector<LoopValue>> halves;
    for (const bool is_upper : {false, true}) {
      halves.push_back(
          {NamedInBlock(MakeOperation(ScalarOp::kCast, narrow.result,
                                      {MakeGroupHalves(values, values->type.lanes, is_upper)}),
                        names_, body)});
    }
    Accumulator accumulator{extreme.point, plan_.accumulator_lanes(), {}};
    accumulator.names.push_back(NameOf(0, extreme.point, "_lanes"));
    body.push_back({DeclareValue{
        accumulator.names[0],
        EmitCombination(plan_.sums().reduction(), halves[0], halves[1], names_, body)[0],
        /*is_mutable=*/true}});
    accumulators_.push_back(std::move(accumulator));
  }
  key_extremes_.clear();
}

void TileAccumulators::AddNarrow(const TilePoint& point, const TilePoint& step, size_t step_number,
                                 const std::vector<LoopValue>& operands, Block& block) {
  const NarrowReduction& narrow = *plan_.narrow_reduction();
  const LoopValue a = Widen(operands[0], plan_.lanes());
  const LoopValue b = narrow.has_product() ? Widen(operands[1], plan_.lanes()) : nullptr;
  const int lanes = plan_.lanes() * narrow.operand_bytes / SizeBytes(narrow.sum);
  const LoopValue zero = MakeSplat(MakeLiteral(ScalarValue::Zero(narrow.sum)), lanes);
  if (narrow.sum != narrow.result) {
    const auto [position, is_first] =
        short_sums_.try_emplace(PointKey(point), ShortSum{point, step, ""});
    std::string& name = position->second.name;
    if (is_first) {
      name = NameOf(0, point, "_short");
      block.push_back({DeclareValue{name, MakeAddProducts(zero, a, b), /*is_mutable=*/true}});
    } else {
      block.push_back({Assign{name, MakeAddProducts(MakeNamed(name, zero->type), a, b)}});
    }
    return;
  }
  bool is_new;
  const Accumulator& accumulator = accumulators_[Find(point, step, step_number, is_new)];
  const std::string& name = accumulator.names[0];
  if (is_new && !has_loops_) {
    block.push_back({DeclareValue{name, MakeAddProducts(zero, a, b), /*is_mutable=*/true}});
  } else {
    block.push_back({Assign{name, MakeAddProducts(Named(accumulator, 0), a, b)}});
  }
}

void TileAccumulators::AccumulateValues(const TilePoint& point, const TilePoint& step,
                                        size_t step_number, std::vector<LoopValue> values,
                                        Block& block) {
  bool is_new;
  const Accumulator& accumulator = accumulators_[Find(point, step, step_number, is_new)];
  if (!has_loops_ && is_new) {
    for (int r = 0; r < results(); ++r) {
      block.push_back({DeclareValue{accumulator.names[r], Widen(values[r], accumulator.width),
                                    /*is_mutable=*/true}});
    }
    return;
  }
  if (!NeedsFlag() || step_number > 0) return Combine(accumulator, values, block);
  // No neutral element: the first point of the reduction starts the accumulator.
  for (LoopValue& value : values) value = NamedInBlock(value, names_, block);
  Block start, combine;
  for (int r = 0; r < results(); ++r) {
    start.push_back({Assign{accumulator.names[r], Widen(values[r], accumulator.width)}});
  }
  Combine(accumulator, values, combine);
  block.push_back({If{{{Condition::Kind::kFlag, Index(0), Index(0), "empty"}},
                      ShareBlock(std::move(start)),
                      ShareBlock(std::move(combine))}});
}

void TileAccumulators::EndBlock(Block& block) {
  for (const auto& [key, sum] : short_sums_) {
    const ScalarType result = plan_.narrow_reduction()->result;
    const LoopValue lanes =
        MakeNamed(sum.name, {ScalarType::kInt32, 2 * plan_.accumulator_lanes()});
    std::vector<LoopValue> halves;
    for (const bool is_upper : {false, true}) {
      halves.push_back(MakeOperation(ScalarOp::kCast, result,
                                     {MakeGroupHalves(lanes, lanes->type.lanes, is_upper)}));
    }
    AccumulateValues(sum.point, sum.step, /*step_number=*/0,
                     {MakeOperation(ScalarOp::kAdd, result, std::move(halves))}, block);
  }
  short_sums_.clear();
  flipped_words_.clear();
  for (auto& [key, excess] : excesses_) excess.counted.clear();
  if (NeedsFlag()) block.push_back({ClearFlag{"empty"}});
}

// accumulator = accumulator (+) values.
void TileAccumulators::Combine(const Accumulator& accumulator, const std::vector<LoopValue>& values,
                               Block& block) {
  std::vector<LoopValue> left;
  for (int r = 0; r < results(); ++r) left.push_back(Named(accumulator, r));
  AssignTuple(accumulator.names, accumulator.width,
              EmitCombination(plan_.sums().reduction(), left, values, names_, block), block);
}

// Assigns all at once: with several results, one may depend on the old value of another.
void TileAccumulators::AssignTuple(const std::vector<std::string>& targets, int width,
                                   std::vector<LoopValue> values, Block& block) {
  if (values.size() > 1) {
    for (LoopValue& value : values) value = NamedInBlock(value, names_, block);
  }
  for (size_t r = 0; r < values.size(); ++r) {
    block.push_back({Assign{targets[r], Widen(values[r], width)}});
  }
}

void TileAccumulators::Declare(Block& body) const {
  DeclareSigns(body);
  if (!has_loops_) return;
  for (const Accumulator& accumulator : accumulators_) {
    for (int r = 0; r < results(); ++r) {
      const ScalarValue start = HasIdentity() ? (*expression().reduction().identity())[r]
                                              : ScalarValue::Zero(result_type(r));
      body.push_back(
          {DeclareValue{accumulator.names[r], Widen(MakeLiteral(start), accumulator.width),
                        /*is_mutable=*/true}});
    }
  }
  if (!plan_.shares_excess()) DeclareExcesses(body);
  for (const auto& [key, extreme] : key_extremes_) {
    body.push_back({DeclareValue{extreme.name, FirstKeys(), /*is_mutable=*/true}});
  }
  if (!HasIdentity()) body.push_back({DeclareFlag{"empty", {}, /*is_mutable=*/true}});
}

// The accumulators of each result, in the order in which results were first asked for.
std::vector<std::vector<TileAccumulators::Accumulator>> TileAccumulators::ByResult() const {
  std::map<std::string, size_t> numbers;
  std::vector<std::vector<Accumulator>> all;
  for (const Accumulator& accumulator : accumulators_) {
    const auto [position, inserted] = numbers.try_emplace(PointKey(accumulator.point), all.size());
    if (inserted) all.emplace_back();
    all[position->second].push_back(accumulator);
  }
  return all;
}

// All of the same width; no values if there are none.
std::vector<LoopValue> TileAccumulators::CombineChains(const std::vector<Accumulator>& chains,
                                                       Block& body) {
  std::vector<LoopValue> sum;
  for (const Accumulator& chain : chains) {
    std::vector<LoopValue> values;
    for (int r = 0; r < results(); ++r) values.push_back(Named(chain, r));
    if (!sum.empty()) values = EmitCombination(plan_.sums().reduction(), sum, values, names_, body);
    for (LoopValue& value : values) {
      value = NamedInBlock(Widen(std::move(value), chain.width), names_, body);
    }
    sum = std::move(values);
  }
  return sum;
}

int64_t TileAccumulators::ConstantOffset(const ResultTarget& target, const TilePoint& point) const {
  int64_t constant = target.offset.constant;
  for (int d = 0; d < plan_.rank(); ++d) {
    constant += target.offset.coefficients[d] * point.pieces[d].offset;
  }
  return constant;
}

// Elements from a result to another, for each target.
std::vector<int64_t> TileAccumulators::Distance(const TilePoint& from, const TilePoint& to) const {
  std::vector<int64_t> distance;
  for (const ResultTarget& target : plan_.targets()) {
    distance.push_back(ConstantOffset(target, to) - ConstantOffset(target, from));
  }
  return distance;
}

// Indices from a result to another; 0 along what is reduced.
std::vector<int64_t> TileAccumulators::Steps(const TilePoint& from, const TilePoint& to) const {
  std::vector<int64_t> steps;
  for (int d = 0; d < plan_.rank(); ++d) {
    steps.push_back(plan_.is_reduction(d) ? 0 : to.pieces[d].offset - from.pieces[d].offset);
  }
  return steps;
}

// From a to b as from c to d: in memory, and for a store function as points, too.
bool TileAccumulators::AreEvenlyApart(const Partial& a, const Partial& b, const Partial& c,
                                      const Partial& d) const {
  return Distance(a.point, b.point) == Distance(c.point, d.point) &&
         (!plan_.tiles_finish() || Steps(a.point, b.point) == Steps(c.point, d.point));
}

// Results with lanes to combine, equally far from one to the next, as many as are combined at once;
// the others alone.
std::vector<std::vector<TileAccumulators::Partial>> TileAccumulators::Runs(
    std::vector<Partial> partials) const {
  std::ranges::stable_sort(partials, [&](const Partial& a, const Partial& b) {
    const ResultTarget& first = plan_.targets()[0];
    return ConstantOffset(first, a.point) < ConstantOffset(first, b.point);
  });
  std::vector<std::vector<Partial>> runs;
  for (size_t begin = 0; begin < partials.size();) {
    size_t end = begin + 1;
    while (end < partials.size() && !partials[begin].lanes.empty() &&
           AreEvenlyApart(partials[end - 1], partials[end], partials[begin], partials[begin + 1])) {
      ++end;
    }
    for (const int count : LaneRuns(static_cast<int64_t>(end - begin), plan_.accumulator_lanes())) {
      runs.emplace_back(partials.begin() + static_cast<int64_t>(begin),
                        partials.begin() + static_cast<int64_t>(begin) + count);
      begin += static_cast<size_t>(count);
    }
  }
  return runs;
}

// Lanes of all together; then with the points that filled no vector.
TileAccumulators::Final TileAccumulators::CombineRun(const std::vector<Partial>& run, Block& body) {
  const Partial& leader = run[0];
  std::vector<std::vector<LoopValue>> lanes;
  std::vector<LoopValue> values, points;
  for (const Partial& partial : run) lanes.push_back(partial.lanes);
  if (!leader.lanes.empty()) values = CombineLanes(plan_.sums().reduction(), lanes, names_, body);
  for (size_t r = 0; r < leader.points.size(); ++r) {
    std::vector<LoopValue> scalars;
    for (const Partial& partial : run) scalars.push_back(partial.points[r]);
    points.push_back(MakeJoinLanes(std::move(scalars)));
  }
  if (values.empty()) {
    values = points;
  } else if (!points.empty()) {
    for (std::vector<LoopValue>* side : {&values, &points}) {
      for (LoopValue& value : *side) value = NamedInBlock(value, names_, body);
    }
    values = EmitCombination(plan_.sums().reduction(), values, points, names_, body);
  }
  Final final = FinalOf(leader.point, {});
  if (run.size() > 1) {
    final.width = static_cast<int>(run.size());
    final.lane_steps = Steps(run[0].point, run[1].point);
  }
  for (int r = 0; r < results(); ++r) {
    final.names.push_back(NameOf(r, final.point, "_total"));
    body.push_back({DeclareValue{final.names[r], Widen(values[r], final.width),
                                 /*is_mutable=*/true}});
  }
  return final;
}

TileAccumulators::Final TileAccumulators::FinalOf(const TilePoint& point,
                                                  std::vector<std::string> names) const {
  Final final{point, point.width(), std::move(names),
              std::vector<int64_t>(static_cast<size_t>(plan_.rank()), 0), point.off()};
  const int v = plan_.vector_dimension();
  if (v >= 0 && !plan_.is_reduction(v)) final.lane_steps[v] = 1;
  return final;
}

// Final values under names that are assigned to later.
std::vector<TileAccumulators::Final> TileAccumulators::CombineAccumulators(Block& body) {
  EndKeys(body);
  SubtractExcess(body);
  std::vector<Final> finals;
  std::vector<Partial> partials;
  for (const std::vector<Accumulator>& parts : ByResult()) {
    const int width = parts[0].point.width();  // of the result: reduced lanes are gone
    if (parts.size() == 1 && parts[0].width == width) {
      finals.push_back(FinalOf(parts[0].point, parts[0].names));
      continue;
    }
    std::vector<Accumulator> vectors, points;
    for (const Accumulator& part : parts) (part.width > width ? vectors : points).push_back(part);
    std::vector<LoopValue> lanes = CombineChains(vectors, body);
    partials.push_back({parts[0].point, std::move(lanes), CombineChains(points, body)});
  }
  for (const std::vector<Partial>& run : Runs(std::move(partials))) {
    finals.push_back(CombineRun(run, body));
  }
  return finals;
}

}  // namespace mdh

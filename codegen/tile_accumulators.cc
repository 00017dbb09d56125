#include "codegen/tile_accumulators.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

LoopValue Widen(LoopValue value, int width) {
  return value->type.lanes == width ? value : MakeSplat(std::move(value), width);
}

Condition Flag(Condition::Kind kind, const std::string& name) {
  return {kind, Index(0), Index(0), name};
}

std::shared_ptr<const Block> Own(Block block) {
  return std::make_shared<const Block>(std::move(block));
}

}  // namespace

ScalarType TileAccumulators::result_type(int r) const {
  return RegisterType(expression().function().results()[r].type);
}

bool TileAccumulators::HasIdentity() const { return plan_.starts_from_identity(); }

std::string TileAccumulators::PointKey(const TilePoint& point) const {
  std::string key;
  for (int d = 0; d < plan_.rank(); ++d) {
    if (!plan_.is_reduction(d)) absl::StrAppend(&key, point.pieces[d].offset, "|");
  }
  return key;
}

// "C_i0_j8": the output and the offsets within the tile.
std::string TileAccumulators::NameOf(int r, const TilePoint& point, const std::string& suffix) {
  const Expression::AccessRef ref = expression().output_access(r);
  std::string name = plan_.output_name(ref.buffer);
  if (const std::string& field = expression().outputs()[ref.buffer].type.fields()[ref.field].name;
      !field.empty()) {
    absl::StrAppend(&name, "_", field, "_");
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
  const int width = lanes_reduced ? step.pieces[v].width : point.width();
  std::string suffix;
  if (lanes_reduced && width == 1) suffix = "_s";  // points that fill no vector
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

void TileAccumulators::NameIt(LoopValue& value, Block& block) {
  if (std::holds_alternative<NamedValue>(value->form)) return;
  const std::string name = names_.Unique("t");
  block.push_back({DeclareValue{name, value}});
  value = MakeNamed(name, value->type);
}

void TileAccumulators::Accumulate(const TilePoint& point, const TilePoint& step, size_t step_number,
                                  std::vector<LoopValue> values, Block& block) {
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
  for (LoopValue& value : values) NameIt(value, block);
  Block start, combine;
  for (int r = 0; r < results(); ++r) {
    start.push_back({Assign{accumulator.names[r], Widen(values[r], accumulator.width)}});
  }
  Combine(accumulator, values, combine);
  block.push_back({If{
      {Flag(Condition::Kind::kFlag, "empty")}, Own(std::move(start)), Own(std::move(combine))}});
}

void TileAccumulators::EndBlock(Block& block) const {
  if (NeedsFlag()) block.push_back({ClearFlag{"empty"}});
}

// accumulator = accumulator (+) values.
void TileAccumulators::Combine(const Accumulator& accumulator, const std::vector<LoopValue>& values,
                               Block& block) {
  std::vector<LoopValue> left;
  for (int r = 0; r < results(); ++r) left.push_back(Named(accumulator, r));
  AssignTuple(accumulator.names, accumulator.width,
              EmitCombination(expression().reduction(), left, values, names_, block), block);
}

// Assigns all at once: with several results, one may depend on the old value of another.
void TileAccumulators::AssignTuple(const std::vector<std::string>& targets, int width,
                                   std::vector<LoopValue> values, Block& block) {
  if (values.size() > 1) {
    for (LoopValue& value : values) NameIt(value, block);
  }
  for (size_t r = 0; r < values.size(); ++r) {
    block.push_back({Assign{targets[r], Widen(values[r], width)}});
  }
}

void TileAccumulators::Declare(Block& body) const {
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
  if (!HasIdentity()) body.push_back({DeclareFlag{"empty", {}, /*is_mutable=*/true}});
}

// Lane l with lane l + n/2, and again for half of them.
std::vector<LoopValue> TileAccumulators::CombineLanes(const Accumulator& accumulator, Block& body) {
  std::vector<LoopValue> values;
  for (int r = 0; r < results(); ++r) values.push_back(Named(accumulator, r));
  for (int lanes = accumulator.width; lanes > 1; lanes /= 2) {
    std::vector<LoopValue> lower, upper;
    for (LoopValue& value : values) {
      NameIt(value, body);
      lower.push_back(MakeHalf(value, /*is_upper=*/false));
      upper.push_back(MakeHalf(value, /*is_upper=*/true));
    }
    values = EmitCombination(expression().reduction(), lower, upper, names_, body);
  }
  return values;
}

// Accumulators of one result: vectors are combined as vectors, then over their lanes, then with
// single points.
std::vector<LoopValue> TileAccumulators::CombineParts(const std::vector<size_t>& parts, int width,
                                                      Block& body) {
  Accumulator vectors, total;
  auto add = [&](const Accumulator& part, Accumulator& sum) {
    if (sum.names.empty()) {
      sum = part;
      return;
    }
    std::vector<LoopValue> left, right;
    for (int r = 0; r < results(); ++r) {
      left.push_back(Named(sum, r));
      right.push_back(Named(part, r));
    }
    std::vector<LoopValue> values =
        EmitCombination(expression().reduction(), left, right, names_, body);
    for (int r = 0; r < results(); ++r) {
      NameIt(values[r], body);
      sum.names[r] = std::get<NamedValue>(values[r]->form).name;
    }
  };
  for (const size_t n : parts) {
    if (accumulators_[n].width > width) add(accumulators_[n], vectors);
  }
  if (!vectors.names.empty()) {
    std::vector<LoopValue> values = CombineLanes(vectors, body);
    total = {vectors.point, width, {}};
    for (LoopValue& value : values) {
      NameIt(value, body);
      total.names.push_back(std::get<NamedValue>(value->form).name);
    }
  }
  for (const size_t n : parts) {
    if (accumulators_[n].width == width) add(accumulators_[n], total);
  }
  std::vector<LoopValue> values;
  for (int r = 0; r < results(); ++r) values.push_back(Named(total, r));
  return values;
}

// One final value per result, under a name that is assigned to later.
std::vector<TileAccumulators::Final> TileAccumulators::CombineAccumulators(Block& body) {
  std::map<std::string, std::vector<size_t>> by_point;
  std::vector<std::string> order;
  for (size_t n = 0; n < accumulators_.size(); ++n) {
    const std::string key = PointKey(accumulators_[n].point);
    if (!by_point.contains(key)) order.push_back(key);
    by_point[key].push_back(n);
  }
  std::vector<Final> finals;
  for (const std::string& key : order) {
    const std::vector<size_t>& parts = by_point[key];
    const Accumulator& leader = accumulators_[parts[0]];
    const int width = leader.point.width();  // of the result: reduced lanes are gone
    if (parts.size() == 1 && leader.width == width) {
      finals.push_back({leader.point, width, leader.names});
      continue;
    }
    std::vector<LoopValue> total = CombineParts(parts, width, body);
    Final final{leader.point, width, {}};
    for (int r = 0; r < results(); ++r) {
      final.names.push_back(NameOf(r, final.point, "_total"));
      body.push_back({DeclareValue{final.names[r], total[r], /*is_mutable=*/true}});
    }
    finals.push_back(std::move(final));
  }
  return finals;
}

TileAccumulators::OutputElement TileAccumulators::ElementOf(
    int r, const TilePoint& point, const std::vector<Index>& origins) const {
  const ResultTarget& target = plan_.targets()[r];
  Index offset(0);
  int64_t constant = target.offset.constant;
  for (int d = 0; d < plan_.rank(); ++d) {
    if (target.offset.coefficients[d] == 0) continue;
    offset = offset + origins[d] * target.offset.coefficients[d];
    constant += target.offset.coefficients[d] * point.pieces[d].offset;
  }
  const int v = plan_.vector_dimension();
  return {target.pointer, offset + Index(constant), target.type,
          v >= 0 && !plan_.is_reduction(v) ? target.offset.coefficients[v] : 1};
}

void TileAccumulators::PrefetchResults(const std::vector<Index>& origins, Block& body) const {
  std::set<std::string> requested;
  for (const Accumulator& accumulator : accumulators_) {
    for (int r = 0; r < results(); ++r) {
      const OutputElement at = ElementOf(r, accumulator.point, origins);
      if (!requested.insert(absl::StrCat(at.pointer, "|", at.offset.ToString())).second) continue;
      body.push_back({PrefetchElement{at.pointer, at.offset, /*for_writing=*/true}});
    }
  }
}

void TileAccumulators::AddToOutputs(const std::vector<Final>& finals,
                                    const std::vector<Index>& origins, Block& body) {
  Block add;
  for (const Final& final : finals) {
    std::vector<LoopValue> old, now;
    for (int r = 0; r < results(); ++r) {
      const OutputElement at = ElementOf(r, final.point, origins);
      const LoopValueType type{result_type(r), final.width};
      old.push_back(LoadValue(at.pointer, at.offset, {at.type, final.width}, at.stride));
      NameIt(old.back(), add);
      now.push_back(MakeNamed(final.names[r], type));
    }
    AssignTuple(final.names, final.width,
                EmitCombination(expression().reduction(), old, now, names_, add), add);
  }
  body.push_back({If{{Flag(Condition::Kind::kNotFlag, "first")}, Own(std::move(add)), nullptr}});
}

void TileAccumulators::StoreResults(const std::vector<Index>& origins, bool accumulates,
                                    Block& body) {
  const std::vector<Final> finals = CombineAccumulators(body);
  if (accumulates) AddToOutputs(finals, origins, body);
  // What other tiles or stages will read should stay in caches.
  const bool streams = plan_.streams_results() && !accumulates && !plan_.uses_result_arrays();
  for (const Final& final : finals) {
    for (int r = 0; r < results(); ++r) {
      const OutputElement at = ElementOf(r, final.point, origins);
      const LoopValueType type{result_type(r), final.width};
      body.push_back({StoreElements{at.pointer, at.offset,
                                    StoredValue(MakeNamed(final.names[r], type), at.type),
                                    at.stride, streams && at.stride == 1}});
    }
  }
}

}  // namespace mdh

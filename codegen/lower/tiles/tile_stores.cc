// How final values of a register tile reach arrays or outputs.
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/tile_accumulators.h"

namespace mdh {
namespace {

Condition Flag(Condition::Kind kind, const std::string& name) {
  return {kind, Index(0), Index(0), name};
}

}  // namespace

// Elements from one lane's to that of the next.
int64_t TileAccumulators::StrideOf(const ResultTarget& target, const Final& final) {
  int64_t stride = 0;
  bool has_lanes = false;
  for (size_t d = 0; d < final.lane_steps.size(); ++d) {
    stride += target.offset.coefficients[d] * final.lane_steps[d];
    has_lanes = has_lanes || final.lane_steps[d] != 0;
  }
  return has_lanes ? stride : 1;
}

TileAccumulators::OutputElement TileAccumulators::ElementOf(
    const ResultTarget& target, const TilePoint& point, const std::vector<Index>& origins) const {
  Index offset(0);
  for (int d = 0; d < plan_.rank(); ++d) {
    if (target.offset.coefficients[d] == 0) continue;
    offset = offset + origins[d] * target.offset.coefficients[d];
  }
  return {target.pointer, offset + Index(ConstantOffset(target, point)), target.type};
}

void TileAccumulators::PrefetchResults(const std::vector<Index>& origins, Block& body) const {
  std::set<std::string> requested;
  for (const Accumulator& accumulator : accumulators_) {
    for (const ResultTarget& target : plan_.targets()) {
      const OutputElement at = ElementOf(target, accumulator.point, origins);
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
      const ResultTarget& target = plan_.targets()[r];
      const OutputElement at = ElementOf(target, final.point, origins);
      LoopValue value = LoadValue(at.pointer, at.offset, {at.type, final.width},
                                  StrideOf(target, final), final.off);
      old.push_back(NamedInBlock(std::move(value), names_, add));
      now.push_back(FinalValue(final, r));
    }
    AssignTuple(final.names, final.width,
                EmitCombination(plan_.sums().reduction(), old, now, names_, add), add);
  }
  body.push_back(When({Flag(Condition::Kind::kNotFlag, "first")}, std::move(add)));
}

LoopValue TileAccumulators::FinalValue(const Final& final, int r) const {
  return MakeNamed(final.names[r], {result_type(r), final.width});
}

// As they are, or what the store function makes of them.
void TileAccumulators::StoreFinal(const Final& final, const std::vector<Index>& origins,
                                  const Destination& to, Block& body) {
  std::vector<LoopValue> values;
  for (int r = 0; r < results(); ++r) values.push_back(FinalValue(final, r));
  if (to.applies_store) {
    StoredPoint point{{}, final.width, final.lane_steps, final.off};
    for (int d = 0; d < plan_.rank(); ++d) {
      point.at.push_back(origins[d] + Index(final.point.pieces[d].offset));
    }
    values = EmitStoreFunction(expression(), plan_.store_pointers(), point, values, names_, body);
  }
  for (size_t n = 0; n < to.targets.size(); ++n) {
    const OutputElement at = ElementOf(to.targets[n], final.point, origins);
    const int64_t stride = StrideOf(to.targets[n], final);
    body.push_back({StoreElements{at.pointer, at.offset, StoredValue(values[n], at.type), stride,
                                  to.streams && stride == 1 && final.off == 0, final.off}});
  }
}

void TileAccumulators::StoreResults(const std::vector<Index>& origins, bool accumulates,
                                    Block& body) {
  const std::vector<Final> finals = CombineAccumulators(body);
  if (accumulates) AddToOutputs(finals, origins, body);
  // What other tiles or stages will read should stay in caches.
  const bool streams = plan_.streams_results();
  const Destination here = {plan_.targets(), streams && !accumulates && !plan_.uses_result_arrays(),
                            plan_.tiles_store() && !plan_.stores_at_last()};
  const auto store_all = [&](const Destination& to, Block& block) {
    for (const Final& final : finals) StoreFinal(final, origins, to, block);
  };
  if (!plan_.stores_at_last()) return store_all(here, body);
  Block last, others;
  store_all({plan_.outputs(), streams, /*applies_store=*/true}, last);
  store_all(here, others);
  body.push_back({If{{Flag(Condition::Kind::kFlag, "last")},
                     ShareBlock(std::move(last)),
                     ShareBlock(std::move(others))}});
}

}  // namespace mdh

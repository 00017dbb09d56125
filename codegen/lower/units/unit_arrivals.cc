#include "codegen/lower/units/unit_arrivals.h"

#include <utility>

namespace mdh {

UnitArrivals::UnitArrivals(UnitContext& context, const UnitCopies& a, const UnitCopies& b)
    : context_(context),
      a_(a),
      b_(b),
      arrived_(context.names().Unique("arrived")),
      multiplied_(context.names().Unique("multiplied")) {}

void UnitArrivals::Declare(Block* block) const {
  if (!plan().has_tensors()) return;
  for (const UnitCopies* copies : {&a_, &b_}) {
    if (copies->is_tensor()) copies->DeclareMap(block);
  }
  Block start;
  const auto declare = [&](const std::string& name, int64_t arrivals) {
    block->push_back({DeclareArray{name, ScalarType::kInt64, plan().places, MemorySpace::kShared}});
    start.push_back({StartBarriers{name, plan().places, arrivals}});
  };
  declare(arrived_, 1);
  const UnitParameters& unit = context_.unit();
  if (unit.has_producer()) declare(multiplied_, int64_t{unit.groups} * unit.cluster());
  block->push_back(When({IsZero(context_.Thread())}, std::move(start)));
  if (unit.cluster() == 1) {
    block->push_back({Barrier{}});
  } else {
    block->push_back({ClusterBarrier{.is_of_starts = true}});
  }
}

void UnitArrivals::EmitCopies(const Index& stage, const Index& slot, Block* block) const {
  int64_t bytes = 0;
  Block copies;
  for (const UnitCopies* operand : {&a_, &b_}) {
    if (!operand->is_tensor()) continue;
    bytes += operand->stage_bytes();
    operand->EmitTensor(stage, slot, arrived_, &copies);
  }
  block->push_back({ArriveAtBarrier{arrived_, slot, bytes}});
  Append(std::move(copies), block);
}

// Phases go on from one tile to the next, each of which has as many stages in a place, or one more
// in the first ones.
Index UnitArrivals::PhaseOf(const Index& in_part, const Index& slot, const Index& turn) const {
  const int64_t stages = plan().part_stages, places = plan().places;
  Index phase = in_part / places;
  if (context_.unit().turns == 1) return phase;
  phase = phase + turn * (stages / places);
  if (stages % places == 0) return phase;
  // Both are 0 or 1, and so is their product.
  const Index one_more = (Index(stages + places - 1) - slot) / places - Index(stages / places);
  return phase + Min(turn % 2, one_more);
}

void UnitArrivals::AwaitCopies(const Index& in_part, const Index& slot, const Index& turn,
                               Block* block) const {
  block->push_back({AwaitBarrier{arrived_, slot, PhaseOf(in_part, slot, turn) % 2}});
}

void UnitArrivals::EmitRelease(const Index& slot, Block* block) const {
  block->push_back({ArriveAtBarrier{multiplied_, slot, 0, context_.unit().cluster()}});
}

// The phase in front of the first one counts as ended.
void UnitArrivals::AwaitRelease(const Index& in_part, const Index& slot, const Index& turn,
                                Block* block) const {
  const Index before = PhaseOf(in_part, slot, turn) + Index(1);
  block->push_back({AwaitBarrier{multiplied_, slot, before % 2}});
}

void UnitArrivals::AwaitCluster(const std::string& place, const Index& stages, Block* block) const {
  const UnitParameters& unit = context_.unit();
  const Index number = Index::Variable(place);
  Block await;
  if (unit.turns > 1) {
    const Index tiles =
        (Index(plan().blocks(unit) + plan().launched(unit) - 1) - context_.BlockNumber()) /
        plan().launched(unit);
    AwaitRelease(number, number, tiles, &await);
  } else {
    AwaitRelease(stages + number, (stages + number) % plan().places, Index(0), &await);
  }
  block->push_back(Rolled(place, Index(plan().places), std::move(await)));
}

}  // namespace mdh

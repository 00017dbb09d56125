#include "tests/property/unit_pairs.h"

#include <vector>

#include "codegen/choose/default_parameters.h"
#include "codegen/program/scalar_code.h"
#include "core/decomposition/unit_plan.h"
#include "core/decomposition/unit_tensor.h"
#include "tests/random_contraction.h"

namespace mdh {
namespace {

// Sums in 16 bits of many products of three leave what these hold before they are complete.
bool MayRound(const UnitPlan& plan) {
  constexpr int64_t kFew = 48;
  const bool is_narrow = RegisterType(plan.form.combined) != plan.form.combined;
  const bool multiplies = plan.form.a.parameters.size() + plan.form.b.parameters.size() > 2;
  return is_narrow && multiplies && plan.section_k > kFew;
}

UnitOperands RandomOperands(Rng& rng) {
  return static_cast<UnitOperands>(Below(rng, 2) * Below(rng, 4));
}

// Those that are not in memory as the unit takes them are packed or computed; now and then others.
void MakeOperands(const UnitPlan& plan, Rng& rng, UnitParameters* unit) {
  const bool converts = plan.is_converted() && !unit->has_warps();
  const auto is_made = [&](const UnitOperandPlan& operand) {
    return converts || operand.is_made || (operand.is_across && plan.element_bytes() == 1);
  };
  const int made = (is_made(plan.a_in_memory) ? 1 : 0) + (is_made(plan.b_in_memory) ? 2 : 0);
  int packed = static_cast<int>(unit->packed);
  const int computed = Below(rng, 3) == 0 ? static_cast<int>(Below(rng, 4)) : 0;
  packed &= ~computed;
  const int open = made & ~packed & ~computed, choice = static_cast<int>(Below(rng, 4));
  unit->packed = static_cast<UnitOperands>(packed | (open & choice));
  unit->computed = static_cast<UnitOperands>(computed | (open & ~choice));
  if (plan.has_parts() && Below(rng, 4) > 0) {
    unit->packed = UnitOperands::kBoth;
    unit->computed = UnitOperands::kNone;
  }
}

// Now and then small tiles of packed operands: what the copy engine takes, and several for
// clusters.
void MakeSmallTiles(Rng& rng, UnitParameters* unit) {
  if (unit->has_warps() || Below(rng, 3) > 0) return;
  unit->packed = UnitOperands::kBoth;
  unit->computed = UnitOperands::kNone;
  unit->groups = AnyOf(rng, std::vector{1, 1, 2});
  unit->rows = 64 * unit->groups;
  unit->columns = AnyOf(rng, std::vector{16, 16, 32, 64});
}

// Most of those that may be: few are, but for what is packed.
void MakeTensors(const Expression& expression, const UnitPlan& plan, Rng& rng,
                 TuningParameters* p) {
  if (p->unit.has_warps() || Below(rng, 8) == 0) return;
  for (const UnitOperands operand : {UnitOperands::kA, UnitOperands::kB}) {
    UnitParameters unit = p->unit;
    unit.tensors = operand;
    if (!TensorObstacle(expression, unit, CutForUnit(unit, p->combine_blocks, plan)).empty()) {
      continue;
    }
    const int both = static_cast<int>(p->unit.tensors) | static_cast<int>(operand);
    if (Below(rng, 8) > 0) p->unit.tensors = static_cast<UnitOperands>(both);
  }
  if (p->unit.tensors != UnitOperands::kBoth || p->combine_blocks != CombineBlocks::kPartials)
    return;
  p->unit.producer =
      AnyOf(rng, std::vector{UnitProducer::kNone, UnitProducer::kWarp,
                             p->unit.groups > 1 ? UnitProducer::kGroup : UnitProducer::kWarp});
}

// Now and then those of a few blocks, by a producer.
void MakeClusters(const Expression& expression, const UnitPlan& plan, Rng& rng,
                  TuningParameters* p) {
  if (!p->unit.has_producer() || Below(rng, 3) == 0) return;
  for (int UnitParameters::*const along :
       {&UnitParameters::cluster_m, &UnitParameters::cluster_n}) {
    UnitParameters unit = p->unit;
    unit.*along = AnyOf(rng, std::vector{1, 2, 2, 2, 3, 4});
    const UnitPlan cut = CutForUnit(unit, p->combine_blocks, plan);
    const bool has_turns = unit.turns <= cut.blocks(unit) / unit.cluster();
    if (has_turns && TensorObstacle(expression, unit, cut).empty()) p->unit = unit;
  }
}

UnitParameters RandomGroups(Rng& rng) {
  const int groups = AnyOf(rng, std::vector{1, 1, 2, 2, 3, 4});
  const int tiles = AnyOf(rng, std::vector{1, 1, 1, 2});
  UnitParameters unit = {.rows = 64 * groups * tiles,
                         .columns = AnyOf(rng, std::vector{16, 32, 48, 64, 64, 128, 192, 256}),
                         .groups = groups,
                         .stages = AnyOf(rng, std::vector{2, 2, 3, 4, 5, 6, 8}),
                         .parts = AnyOf(rng, std::vector{1, 1, 1, 2, 3, 4}),
                         .packed = RandomOperands(rng)};
  if (unit.parts == 1) unit.turns = AnyOf(rng, std::vector{1, 1, 2, 3, 5});
  return unit;
}

// Warps with an instruction for elements of so many bytes.
UnitParameters RandomWarps(Rng& rng, int64_t bytes) {
  const int along_m = AnyOf(rng, std::vector{1, 1, 2, 3, 4});
  const int along_n = AnyOf(rng, std::vector{1, 1, 2, 4});
  const int m = bytes == 8 ? AnyOf(rng, std::vector{8, 16, 16, 16}) : 16;
  const int k = bytes == 8 ? AnyOf(rng, std::vector{4, 4, 8}) : static_cast<int>(32 / bytes);
  return {.rows = m * along_m * AnyOf(rng, std::vector{1, 2, 2, 4}),
          .columns = 8 * along_n * AnyOf(rng, std::vector{1, 2, 2, 3, 4, 8}),
          .stages = AnyOf(rng, std::vector{2, 3, 4, 5, 8}),
          .parts = AnyOf(rng, std::vector{1, 1, 1, 2, 3, 4}),
          .packed = RandomOperands(rng),
          .warps = {along_m, along_n, m, k}};
}

}  // namespace

DeviceDescription DeviceWithUnits(const JudgedBackend& backend, Rng& rng) {
  // Judges that only compile have no device at hand.
  return backend.device() != nullptr ? backend.device()->description()
                                     : *DescribeCudaArchitecture(AnyOf(rng, std::vector{80, 90}));
}

std::vector<JudgedOutput> OutputsOfUnit(const Expression& expression) {
  std::vector<JudgedOutput> outputs = OutputsOf(expression);
  for (JudgedOutput& output : outputs) {
    for (const ElementType::Field& field : output.buffer.type.fields()) {
      if (RegisterType(field.type) != field.type) output.units = 1;
    }
  }
  return outputs;
}

std::optional<UnitCase> RandomUnitCase(Rng& rng, const DeviceDescription& device) {
  constexpr int kExpressions = 200, kUnits = 40;  // that are tried
  for (int tried = 0; tried < kExpressions; ++tried) {
    const int64_t points = int64_t{1} << (8 + Below(rng, 10));
    const Expression expression =
        RandomContraction(rng, {.max_points = points, .computed_operands = Below(rng, 2) == 0});
    const NumericsPolicy numerics = PolicyFor(
        expression, AnyOf(rng, std::vector{NumericsPolicy::kTf32, NumericsPolicy::kBf16x3,
                                           NumericsPolicy::kBf16x6, NumericsPolicy::kFp8}));
    const Result<UnitPlan> plan = PlanUnit(expression, numerics);
    if (!plan.ok() || MayRound(*plan)) continue;
    // Single elements are what most of them copy.
    if (plan->a.width * plan->b.width == 1 && Below(rng, 4) > 0) continue;
    TuningParameters p = DefaultParameters(expression, CudaModel(), device, numerics);
    p.swizzle = static_cast<int>(1 + Below(rng, 4));
    p.resident_blocks = 0;
    for (int n = 0; n < kUnits; ++n) {
      const int64_t bytes = plan->element_bytes();
      const bool has_groups = bytes < 8;
      p.unit = !has_groups || Below(rng, 3) == 0 ? RandomWarps(rng, bytes) : RandomGroups(rng);
      MakeOperands(*plan, rng, &p.unit);
      MakeSmallTiles(rng, &p.unit);
      p.combine_blocks = p.unit.parts > 1 && Below(rng, 2) == 0 ? CombineBlocks::kCluster
                                                                : CombineBlocks::kPartials;
      MakeTensors(expression, *plan, rng, &p);
      MakeClusters(expression, *plan, rng, &p);
      if (Validate(expression, CudaModel(), device, p).ok()) return UnitCase{expression, p};
    }
  }
  return std::nullopt;
}

}  // namespace mdh

#include "tests/property/unit_pairs.h"

#include <vector>

#include "codegen/choose/default_parameters.h"
#include "codegen/program/scalar_code.h"
#include "core/decomposition/unit_plan.h"
#include "tests/random_contraction.h"

namespace mdh {
namespace {

UnitParameters RandomGroups(Rng& rng) {
  const int groups = AnyOf(rng, std::vector{1, 1, 2, 2, 3, 4});
  const int tiles = AnyOf(rng, std::vector{1, 1, 1, 2});
  return {.rows = 64 * groups * tiles,
          .columns = AnyOf(rng, std::vector{16, 32, 48, 64, 64, 128, 192, 256}),
          .groups = groups,
          .stages = AnyOf(rng, std::vector{2, 2, 3, 4, 5, 6, 8}),
          .parts = AnyOf(rng, std::vector{1, 1, 1, 2, 3, 4}),
          .packed = static_cast<PackedOperands>(Below(rng, 2) * Below(rng, 4))};
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
          .packed = static_cast<PackedOperands>(Below(rng, 2) * Below(rng, 4)),
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
        RandomContraction(rng, {.max_points = points, .computed_operands = false});
    const NumericsPolicy numerics =
        PolicyFor(expression, AnyOf(rng, std::vector{NumericsPolicy::kTf32, NumericsPolicy::kBf16x3,
                                                     NumericsPolicy::kBf16x6}));
    const Result<UnitPlan> plan = PlanUnit(expression, numerics);
    if (!plan.ok()) continue;
    // Single elements are what most of them copy.
    if (plan->a.width * plan->b.width == 1 && Below(rng, 4) > 0) continue;
    TuningParameters p = DefaultParameters(expression, CudaModel(), device, numerics);
    p.swizzle = static_cast<int>(1 + Below(rng, 4));
    p.resident_blocks = 0;
    for (int n = 0; n < kUnits; ++n) {
      const int64_t bytes = plan->element_bytes();
      const bool has_groups = bytes == 2 || plan->is_converted();
      p.unit = !has_groups || Below(rng, 3) == 0 ? RandomWarps(rng, bytes) : RandomGroups(rng);
      if (plan->is_converted() && Below(rng, 4) > 0) p.unit.packed = PackedOperands::kBoth;
      p.combine_blocks = p.unit.parts > 1 && Below(rng, 2) == 0 ? CombineBlocks::kCluster
                                                                : CombineBlocks::kPartials;
      if (Validate(expression, CudaModel(), device, p).ok()) return UnitCase{expression, p};
    }
  }
  return std::nullopt;
}

}  // namespace mdh

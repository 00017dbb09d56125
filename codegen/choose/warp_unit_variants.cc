#include "codegen/choose/warp_unit_variants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "codegen/choose/counting/unit_parts.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/unit_use.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

// Of a multiprocessor and cycle: bytes that stages get from the second-level cache, bytes that
// warps read of shared memory, bytes of results on their way out, and of parts of them, until they
// are combined.
constexpr double kWarpStageBytes = 40, kWarpSharedBytes = 128, kWarpResultBytes = 20,
                 kWarpPartBytes = 8;
// The part of its rate that a unit is kept busy at.
constexpr double kWarpBusy = 0.9;
// Of all multiprocessors together: bytes from memory in a cycle.
constexpr double kWarpBytesFromMemory = 1700;
// Cycles until the first stage is there, between two stages, and from one launch to the next.
constexpr double kWarpFirstStage = 1500, kWarpBetweenStages = 60, kWarpNextLaunch = 6000;
constexpr double kWarpCopyInstructions = 6, kWarpSingleInstructions = 50,
                 kWarpThreadInstructions = 128;
// Of an element that is computed, while which warps do not multiply.
constexpr double kWarpComputedInstructions = 15;
constexpr int kWarpSwizzle = 8;
constexpr int kFewestWidth = 4;  // neighbours that are copied at once

struct WarpShape {
  int rows, columns, along_m, along_n;
};
// Fewer bytes of operands for a multiplication first; in a warp's registers is room for the sums of
// 64 x 64 or, of doubles, 64 x 32.
constexpr std::array<WarpShape, 18> kWarpShapes = {{{128, 256, 2, 4},
                                                    {256, 128, 4, 2},
                                                    {128, 128, 2, 2},
                                                    {128, 128, 2, 4},
                                                    {64, 128, 2, 4},
                                                    {128, 64, 4, 2},
                                                    {64, 128, 1, 2},
                                                    {64, 64, 2, 2},
                                                    {64, 64, 1, 2},
                                                    {32, 128, 1, 4},
                                                    {128, 32, 4, 1},
                                                    {32, 64, 1, 2},
                                                    {64, 32, 2, 1},
                                                    {32, 32, 1, 2},
                                                    {16, 128, 1, 4},
                                                    {16, 64, 1, 2},
                                                    {128, 16, 4, 1},
                                                    {64, 16, 4, 1}}};
constexpr std::array<int, 3> kWarpStages = {4, 3, 2};

// Shapes of the fastest instructions for the types of the plan, those for the least k first.
std::vector<UnitWarps> Instructions(const UnitPlan& plan, const DeviceDescription& device) {
  std::vector<UnitWarps> found;
  double fastest = 0;
  for (const MatrixInstruction& row : MatrixInstructions()) {
    const UnitWarps shape{1, 1, static_cast<int>(row.m), static_cast<int>(row.k)};
    if (row.unit != MatrixUnit::kWarp || WarpInstruction(plan, shape) != &row) continue;
    const double rate = MultiplyAddsPerCycle(row, device);
    if (rate > fastest) found.clear();
    fastest = std::max(fastest, rate);
    if (rate > 0 && rate == fastest) found.push_back(shape);
  }
  return found;
}

// Blocks that a multiprocessor has at a time.
int64_t ResidentOfWarps(const UnitPlan& plan, const UnitParameters& unit,
                        const DeviceDescription& device) {
  constexpr int64_t kRegistersBeside = 32, kGranularity = 8;
  const BlockLimits& limits = device.blocks;
  const int64_t by_memory = (limits.shared_bytes_per_block + kReservedSharedBytes) /
                            (UnitSharedBytes(unit, plan) + kReservedSharedBytes);
  const int64_t registers = RoundUp(UnitRegisters(unit, plan) + kRegistersBeside, kGranularity);
  const int64_t by_registers = limits.registers_per_block / (registers * unit.threads());
  return std::max<int64_t>(1, std::min(by_memory, by_registers));
}

// Of one stage, of all blocks of a multiprocessor together.
double StageCyclesOfWarps(const UnitPlan& plan, const UnitParameters& unit, double rate,
                          double blocks) {
  const double rows = unit.rows, columns = unit.columns;
  const auto depth = static_cast<double>(plan.depth());
  const double multiply = rows * columns * depth / (kWarpBusy * rate);
  // What does not exist is not read.
  const auto points = static_cast<double>(std::min<int64_t>(unit.rows, plan.m) +
                                          std::min<int64_t>(unit.columns, plan.n));
  const double bytes = points * kUnitRowBytes / kWarpStageBytes;
  const double fragments =
      (rows * unit.warps.along_n + columns * unit.warps.along_m) * kUnitRowBytes / kWarpSharedBytes;
  const auto copying = [&](double own, const UnitOperandPlan& operand) {
    if (operand.is_computed) return 0.0;
    return own * depth / operand.width *
           (operand.width == 1 ? kWarpSingleInstructions : kWarpCopyInstructions);
  };
  const double instructions =
      (copying(rows, plan.a) + copying(columns, plan.b)) / kWarpThreadInstructions;
  const double computed = depth *
                          ((plan.a.is_computed ? rows : 0) + (plan.b.is_computed ? columns : 0)) *
                          kWarpComputedInstructions / kWarpThreadInstructions;
  return blocks * (std::max({multiply, bytes, fragments, instructions}) + computed) +
         kWarpBetweenStages;
}

}  // namespace

double WarpUnitCycles(const UnitPlan& plan, const UnitParameters& unit,
                      const DeviceDescription& device) {
  const auto multiprocessors = static_cast<double>(device.blocks.multiprocessors);
  const auto all = static_cast<double>(plan.blocks(unit));
  const auto resident = static_cast<double>(ResidentOfWarps(plan, unit, device));
  const double rate = MultiplyAddsPerCycle(*WarpInstruction(plan, unit.warps), device);
  const double rounds = std::floor(all / (resident * multiprocessors));
  const double rest = all - rounds * resident * multiprocessors;
  const auto stages = static_cast<double>(plan.part_stages);
  const double result_bytes = static_cast<double>(unit.rows) * unit.columns * SizeBytes(plan.sum);
  const auto of = [&](double blocks) {
    return blocks == 0 ? 0
                       : stages * StageCyclesOfWarps(plan, unit, rate, blocks) + kWarpFirstStage +
                             blocks * result_bytes / kWarpResultBytes;
  };
  const auto m = static_cast<double>(plan.m), n = static_cast<double>(plan.n);
  const double touched = static_cast<double>(plan.batches * plan.element_bytes()) *
                         (static_cast<double>(plan.k) * (m + n) + m * n);
  const double computing = rounds * of(resident) + of(std::ceil(rest / multiprocessors));
  double cycles = std::max(computing, touched / kWarpBytesFromMemory) + computing / 8;
  if (unit.packed != UnitOperands::kNone) {
    const auto elements =
        static_cast<double>(plan.packed_elements(true) + plan.packed_elements(false));
    const auto bytes = static_cast<double>(2 * plan.element_bytes());
    cycles += kWarpNextLaunch + elements * bytes / (kWarpResultBytes * multiprocessors);
  }
  if (unit.parts > 1) {
    const double results = static_cast<double>(plan.batches) * m * n;
    cycles += kWarpNextLaunch +
              results * SizeBytes(plan.sum) * unit.parts / (kWarpPartBytes * multiprocessors);
  }
  return cycles;
}

std::vector<TuningParameters> WarpUnitVariants(const Expression& expression,
                                               const SystemModel& model,
                                               const DeviceDescription& device,
                                               const TuningParameters& parameters, size_t most) {
  std::vector<TuningParameters> variants;
  if (!Reassociates(parameters.numerics)) return variants;
  Result<UnitPlan> plan = PlanUnit(expression, parameters.numerics);
  if (!plan.ok()) return variants;
  // Operands that warps cannot take as they are.
  const auto is_unusual = [&](const UnitOperandPlan& operand) {
    if (plan->has_parts() || operand.is_made) return true;
    return plan->element_bytes() == 1 && (operand.is_across || operand.width < kFewestWidth);
  };
  const auto unusual = static_cast<UnitOperands>((is_unusual(plan->a_in_memory) ? 1 : 0) |
                                                 (is_unusual(plan->b_in_memory) ? 2 : 0));
  // They are packed, or computed if that can be.
  std::vector<std::pair<UnitOperands, UnitOperands>> ways = {{unusual, UnitOperands::kNone}};
  if (unusual != UnitOperands::kNone && !plan->has_parts()) {
    ways.emplace_back(UnitOperands::kNone, unusual);
  }
  const bool has_groups =
      device.features.group_units &&
      GroupInstruction(plan->element_a(), plan->element_b(), kWarpColumns).has_value();
  if (has_groups) return variants;
  std::vector<std::pair<double, UnitParameters>> ranked;
  for (UnitWarps warps : Instructions(*plan, device)) {
    for (const WarpShape& shape : kWarpShapes) {
      warps.along_m = shape.along_m;
      warps.along_n = shape.along_n;
      for (const int parts : UnitPartsFor(*plan, shape.rows, shape.columns, device)) {
        for (const auto& [packed, computed] : ways) {
          for (const int stages : kWarpStages) {
            const UnitParameters unit{.rows = shape.rows,
                                      .columns = shape.columns,
                                      .stages = stages,
                                      .parts = parts,
                                      .packed = packed,
                                      .computed = computed,
                                      .warps = warps};
            if (!CutForUnit(unit, device, BlockChoices(), &*plan).empty()) continue;
            ranked.emplace_back(WarpUnitCycles(*plan, unit, device), unit);
            break;
          }
        }
      }
    }
  }
  std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [cycles, unit] : ranked) {
    if (variants.size() >= most) break;
    TuningParameters variant = parameters;
    static_cast<BlockChoices&>(variant) = {};
    variant.swizzle = kWarpSwizzle;
    variant.scan = {};
    variant.keyed = {};
    variant.unit = unit;
    if (Validate(expression, model, device, variant).ok()) variants.push_back(std::move(variant));
  }
  return variants;
}

}  // namespace mdh

#include "core/decomposition/unit_use.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/unit_tensor.h"
#include "core/decomposition/validate.h"
#include "core/device/unit_peaks.h"

namespace mdh {
namespace {

std::optional<MatrixInstruction> InstructionOf(const UnitPlan& plan, const UnitParameters& unit) {
  if (unit.warps.along_m > 0) {
    const MatrixInstruction* of_warps = WarpInstruction(plan, unit.warps);
    return of_warps == nullptr ? std::nullopt : std::optional<MatrixInstruction>(*of_warps);
  }
  return GroupInstruction(plan.element_a(), plan.element_b(), unit.columns);
}

std::string WorkersText(const UnitParameters& unit) {
  if (unit.warps.along_m > 0) {
    return absl::StrCat(unit.warps.along_m, " x ", unit.warps.along_n, " warps");
  }
  return absl::StrCat(unit.groups, unit.groups == 1 ? " group" : " groups", " of threads");
}

std::string TileText(const TuningParameters& p) {
  const UnitParameters& unit = p.unit;
  std::string text = absl::StrCat("tiles of ", unit.rows, " x ", unit.columns, " by ",
                                  WorkersText(unit), ", ", unit.stages, " stages");
  if (unit.packed != UnitOperands::kNone) absl::StrAppend(&text, ", packed operands");
  if (unit.computed != UnitOperands::kNone) absl::StrAppend(&text, ", computed operands");
  if (unit.tensors != UnitOperands::kNone)
    absl::StrAppend(&text, unit.producer == UnitProducer::kGroup ? ", tensor copies by a group"
                           : unit.has_producer()                 ? ", tensor copies by a warp"
                                                                 : ", tensor copies");
  if (unit.cluster() > 1) {
    absl::StrAppend(&text, " for clusters of ", unit.cluster_m, " x ", unit.cluster_n, " blocks");
  }
  if (unit.turns > 1) absl::StrAppend(&text, ", ", unit.turns, " for a block");
  if (unit.parts > 1) {
    absl::StrAppend(&text, "; k in ", unit.parts, " parts, which ",
                    p.combine_blocks == CombineBlocks::kCluster ? "a cluster of blocks adds up"
                                                                : "another stage adds up");
  }
  return text;
}

constexpr int64_t kBarrierBytes = 8;  // of one that threads wait at for copies to a place

}  // namespace

int64_t UnitStageBytes(const UnitParameters& unit) {
  return int64_t{unit.rows + unit.columns} * kUnitRowBytes;
}

int64_t UnitRoomBytes(const UnitParameters& unit, const UnitPlan& plan) {
  const int64_t operand = plan.places * plan.larger_rows() * kUnitRowBytes;
  const int64_t results =
      plan.is_staged ? RoundUp(plan.staged_columns, kUnitDepth) * unit.rows * kUnitElementBytes : 0;
  const int64_t sums =
      plan.sharers > 1 ? int64_t{unit.rows} * unit.columns * SizeBytes(plan.sum) : 0;
  return std::max({operand, UnitRoomBegin(unit, plan) + results, sums});
}

int64_t UnitRoomBegin(const UnitParameters& unit, const UnitPlan& plan) {
  if (unit.turns == 1 || !plan.is_staged) return 0;
  const int64_t places = unit.has_producer() ? plan.places : plan.ahead;
  return places * plan.larger_rows() * kUnitRowBytes;
}

int64_t UnitSharedBytes(const UnitParameters& unit, const UnitPlan& plan) {
  const int64_t smaller = plan.is_shared ? 0 : std::min(plan.a.rows, plan.b.rows);
  return plan.places * smaller * kUnitRowBytes + UnitRoomBytes(unit, plan) +
         RoundUp(plan.places * kBarrierBytes, kUnitPieceBytes) *
             (plan.has_tensors() ? unit.has_producer() ? 2 : 1 : 0);
}

std::optional<UnitUse> UnitUseOf(const LowLevelExpression& low_level,
                                 const DeviceDescription& device, const MachinePeaks& peaks) {
  const TuningParameters& p = low_level.parameters();
  if (p.unit.rows == 0) return std::nullopt;
  const Result<UnitPlan> plan = PlanUnit(low_level.expression(), p.numerics);
  if (!plan.ok()) return std::nullopt;
  const std::optional<MatrixInstruction> instruction = InstructionOf(*plan, p.unit);
  if (!instruction.has_value()) return std::nullopt;
  const size_t products = ProductsOfParts(plan->products).size();
  const double reached = ReachedBy(*instruction, device, peaks.units);
  const double rate = MultiplyAddsPerCycle(*instruction, device) / static_cast<double>(products);
  const double specified =
      2 * rate * device.blocks.multiprocessors * std::max(device.clock_hz, peaks.clock_hz);
  UnitUse use{*instruction, reached > 0 ? reached / static_cast<double>(products) : specified, ""};
  use.text = absl::StrCat(use.instruction.name, ", ", TileText(p));
  if (products > 1) {
    absl::StrAppend(&use.text, "; ", products, " products of parts for one of fp32");
  }
  return use;
}

const MatrixInstruction* WarpInstruction(const UnitPlan& plan, const UnitWarps& warps) {
  for (const MatrixInstruction& row : MatrixInstructions()) {
    const bool has_shape = row.unit == MatrixUnit::kWarp && row.m == warps.m && row.k == warps.k &&
                           row.n == kWarpColumns && row.accumulator == plan.sum;
    if (has_shape && row.a == plan.element_a() && row.b == plan.element_b()) return &row;
  }
  return nullptr;
}

std::string UnitLack(const DeviceDescription& device, absl::Span<const int64_t> /*value*/) {
  if (device.features.group_units) return "";
  return "the device has no matrix units that groups of threads feed from shared memory (CUDA's "
         "have them at compute capability 9.0)";
}

std::string WarpsLack(const DeviceDescription& device, absl::Span<const int64_t> value) {
  if (!HasAsyncCopies(device)) return "the device does not copy to shared memory asynchronously";
  for (const MatrixInstruction& row : MatrixInstructions()) {
    if (row.unit != MatrixUnit::kWarp || row.m != value[6] || row.k != value[7]) continue;
    if (HasInstruction(row, device)) return "";
  }
  return absl::StrCat("the device has no instruction of a warp for m = ", value[6],
                      " and k = ", value[7], " (CUDA's mma.sync)");
}

std::string UnitObstacle(const ChoiceTarget& target, const TuningParameters& p) {
  if (!Reassociates(p.numerics)) {
    return absl::StrCat("numerics=", Name(p.numerics), " fixes the order in which values combine");
  }
  if (p.scan.threads > 0 || p.keyed.threads > 0) return "scan and keyed compute without units";
  Result<UnitPlan> plan = PlanUnit(target.expression, p.numerics);
  if (!plan.ok()) return std::string(plan.status().message());
  std::string why = CutForUnit(p.unit, target.device, p, &*plan);
  return why.empty() ? TensorObstacle(target.expression, p.unit, *plan) : why;
}

}  // namespace mdh

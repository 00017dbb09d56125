// Which instruction of a matrix unit a configuration's kernel multiplies with, and what that can
// do.
#pragma once

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/unit_plan.h"
#include "core/device/device_description.h"
#include "core/device/machine_peaks.h"
#include "core/device/matrix_instruction.h"

namespace mdh {

// Bytes of shared memory of a stage, of a block, and of what the larger operand's stages, which
// have been multiplied, leave room for: sums that a cluster has in common, results of 16 bits,
// which begin behind so many bytes: those of stages of the next tile.
int64_t UnitStageBytes(const UnitParameters& unit);
int64_t UnitSharedBytes(const UnitParameters& unit, const UnitPlan& plan);
int64_t UnitRoomBytes(const UnitParameters& unit, const UnitPlan& plan);
int64_t UnitRoomBegin(const UnitParameters& unit, const UnitPlan& plan);

struct UnitUse {
  MatrixInstruction instruction;
  // Operations per second that all units of the device do at most with it: as measured, or else its
  // rate, times two, multiprocessors and cycles. 0: the clock is not known.
  double flops_per_s = 0;
  // "wgmma.m64n256k16.bf16, tiles of 128 x 256 by 2 groups of threads, 4 stages; k in 2 parts,
  // which a cluster of blocks adds up".
  std::string text;
};

// nullopt: threads compute themselves.
std::optional<UnitUse> UnitUseOf(const LowLevelExpression& low_level,
                                 const DeviceDescription& device, const MachinePeaks& peaks);

// What warps multiply with: the row of the table for the types of the plan and the shape of the
// parameters. nullptr: there is none.
const MatrixInstruction* WarpInstruction(const UnitPlan& plan, const UnitWarps& warps);

// Why no computation can use units by `unit=` or by `warps=` of these values on the device; empty:
// some can.
std::string UnitLack(const DeviceDescription& device, absl::Span<const int64_t> value);
std::string WarpsLack(const DeviceDescription& device, absl::Span<const int64_t> value);

}  // namespace mdh

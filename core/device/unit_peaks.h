// Which matrix instruction stands for all of a type where peaks are measured, and what follows from
// a peak.
#pragma once

#include <vector>

#include "core/device/machine_peaks.h"
#include "core/device/matrix_instruction.h"

namespace mdh {

// The figure for the operands of the instruction.
double UnitPeaks::*PeakOf(const MatrixInstruction& instruction);

// For each figure of the device the fastest instruction for which code is generated, of several n
// the one with the most.
std::vector<MatrixInstruction> FastestInstructions(const DeviceDescription& device);

// Operations per second that were reached with the instruction's unit. 0: it was not measured, or
// the device has a faster one for these operands.
double ReachedBy(const MatrixInstruction& instruction, const DeviceDescription& device,
                 const UnitPeaks& peaks);

// The slowest clock with which rates are not below what units reached; 0: none was measured.
double ClockOfUnits(const DeviceDescription& device, const UnitPeaks& peaks);

}  // namespace mdh

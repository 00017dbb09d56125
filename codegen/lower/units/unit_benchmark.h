// A program that does nothing but multiply on matrix units: what they reach without memory traffic.
#pragma once

#include <cstdint>

#include "codegen/program/loop_program.h"
#include "core/device/device_description.h"
#include "core/device/matrix_instruction.h"

namespace mdh {

struct UnitBenchmark {
  LoopProgram program;  // one output, `out`, of `outputs` values of fp32, no inputs
  double operations = 0;
};

// Some million cycles at the instruction's rate, of all multiprocessors. Expects an instruction of
// warps or of groups that the device has (FastestInstructions).
UnitBenchmark BuildUnitBenchmark(const MatrixInstruction& instruction,
                                 const DeviceDescription& device, int64_t outputs);

}  // namespace mdh

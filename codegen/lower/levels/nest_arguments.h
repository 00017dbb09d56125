// What a caller must know of a level-by-level program besides its statements.
#pragma once

#include <vector>

#include "codegen/program/kernel.h"
#include "codegen/program/loop_program.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/device_description.h"

namespace mdh {

// Arguments of the kernel, in order: inputs, then outputs, by the identifiers that the program
// uses.
std::vector<KernelArgument> NestArguments(const LowLevelExpression& low_level);

// Whether private arrays of the device's threads are registers: loops over them must be unrolled.
bool HasRegisters(const DeviceDescription& device);

// Whether some index of the program does not fit in 32 bits.
bool NeedsWideIndices(const Expression& expression, const LoopProgram& program);

}  // namespace mdh

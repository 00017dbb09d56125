// From a low-level expression to a loop program, level by level (paper, Section 3.1 and appendix
// E): the lowering of everything but the CPU's register tiles.
#pragma once

#include "codegen/program/kernel.h"
#include "codegen/program/loop_program.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/device_description.h"

namespace mdh {

// Expects a low-level expression for one of the models that have a backend. Ensures: running all
// stages in turn stores every reached output element. Inputs and outputs go by the identifiers of
// KernelArguments. Phases that are set apart become stages of their own, with the MDAs between them
// in scratch buffers. Errors: Unimplemented for several devices; ResourceExhausted if MDAs between
// phases are too large.
Result<LoopProgram> BuildNestProgram(const LowLevelExpression& low_level,
                                     const DeviceDescription& device);

// Arguments of the kernel, in order: inputs, then outputs, by the identifiers that the program
// uses.
std::vector<KernelArgument> NestArguments(const LowLevelExpression& low_level);

// Whether private arrays of the device's threads are registers: loops over them must be unrolled.
bool HasRegisters(const DeviceDescription& device);

// Whether some index of the program does not fit in 32 bits.
bool NeedsWideIndices(const Expression& expression, const LoopProgram& program);

}  // namespace mdh

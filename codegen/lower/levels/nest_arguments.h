// What a caller must know of a level-by-level program besides its statements.
#pragma once

#include <vector>

#include "codegen/program/kernel.h"
#include "codegen/program/loop_program.h"
#include "core/decomposition/low_level_expression.h"

namespace mdh {

// Arguments of the kernel, in order: inputs, then outputs, by the identifiers that the program
// uses.
std::vector<KernelArgument> NestArguments(const LowLevelExpression& low_level);

// Whether some index of the program does not fit in 32 bits.
bool NeedsWideIndices(const Expression& expression, const LoopProgram& program);

}  // namespace mdh

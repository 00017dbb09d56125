// No load folding: vectors that are loaded once and used several times stay in registers.
#pragma once

#include "codegen/program/loop_program.h"

namespace mdh {

// Expects any program. Ensures the same computation, with a KeepInRegister after each declaration
// of a loaded vector of 16, 32 or 64 bytes that later statements of its block use more than once:
// gcc folds such a load into each instruction that uses it, and load units become the bottleneck.
LoopProgram KeepSharedLoads(LoopProgram program);

}  // namespace mdh

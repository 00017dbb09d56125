// Contractions on matrix units that groups of threads feed from shared memory (UnitParameters).
#pragma once

#include "codegen/program/loop_program.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"

namespace mdh {

// Expects valid parameters with UnitParameters other than the default. Every block computes a tile
// of results, for one part of k. Stages of the operands come to shared memory by asynchronous
// copies, several stages ahead, while the unit multiplies those that are there:
//   for p = 0 .. A-1: copies of stage p; commit                           A = stages - 2
//   for s: wait until at most A-1 groups of copies are outstanding; unit fence; barrier
//          multiplications of stage s begin
//          copies of stage s + A, if there is one, to where stage s - 2 was; commit
//          wait until at most the multiplications of stage s are outstanding
// One barrier is enough: it makes stage s visible, and those of stage s - 2 are done before any
// thread comes to it. Then the store function makes outputs of the sums, in registers, and these go
// through shared memory where neighbours in registers are few in memory.
Result<LoopProgram> BuildUnitProgram(const LowLevelExpression& low_level);

}  // namespace mdh

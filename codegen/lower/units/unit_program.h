// Contractions on matrix units that groups of threads feed from shared memory, or warps from
// registers (UnitParameters).
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
// Of three places at most (UnitPlan::is_refilled) the copies of all begin first, A = stages, and
// the others once their place has been multiplied:
//   for s: wait until at most A-1 groups of copies are outstanding; unit fence; barrier
//          multiplications of stage s begin; wait until they are done; barrier
//          copies of stage s + A, if there is one; commit
// Blocks with several tiles (UnitParameters::turns) begin the first copies of one in front of the
// results of the one before it.
// Where sums of every stage are promoted, threads add some while the unit multiplies into others:
// those of one half of a group's tile.
// Warps have a stage's operands in registers, a step along k after the other, and multiply at once
// (codegen/lower/units/warp_unit.h):
//   for p = 0 .. A-1: copies of stage p; commit                           A = stages - 1
//   wait for stage 0; barrier; load step 0
//   for s: copies of stage s + A, if there is one, to where stage s - 1 was; commit
//          for each step: in front of the last one wait for stage s + 1, barrier;
//                         load the next step, which may be that stage's first; multiply this one
// One barrier is enough: it makes stage s visible, and those of stage s - 2 are done before any
// thread comes to it. Then the store function makes outputs of the sums, in registers, and these go
// through shared memory where neighbours in registers are few in memory.
Result<LoopProgram> BuildUnitProgram(const LowLevelExpression& low_level);

}  // namespace mdh

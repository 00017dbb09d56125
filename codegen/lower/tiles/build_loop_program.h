// From a low-level expression to a loop program (paper, appendix E): the fused loop nest of the
// three phases, staging of inputs, and the stage that combines the results of cores.
#pragma once

#include "codegen/lower/tiles/loop_plan.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// Expects a plan of a valid low-level expression. Ensures: running all stages in turn, each by
// `threads` threads with thread = 0 .. threads-1, stores every reached output element once per
// run, or several times the same value from one thread (Remainder); partial results apart.
LoopProgram BuildLoopProgram(const LoopPlan& plan);

}  // namespace mdh

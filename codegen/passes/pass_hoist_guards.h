// Loop unswitching: guards that hold for all iterations of a loop, or for none, stand around the
// loop.
#pragma once

#include "codegen/program/loop_program.h"

namespace mdh {

// Expects any program whose indices are assigned once. Ensures the same computation in which no
// loop's body is only a branch with a condition that does not depend on the loop: such conditions
// are those of a branch around the loop. So loops over the points of a vector that exists as a
// whole or not at all are as plain as where all points exist, and wide loads and stores can take
// their place (codegen/passes/pass_vectorize_copies.h).
LoopProgram HoistGuards(LoopProgram program);

}  // namespace mdh

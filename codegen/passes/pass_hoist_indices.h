// Loop-invariant code motion of index arithmetic: what does not change in a loop is computed once,
// outside of it.
#pragma once

#include "codegen/program/loop_program.h"

namespace mdh {

// Expects a program whose loops have their final For::unroll, and in which a name that is in scope
// is not declared again. Ensures the same computation in which every offset, index and condition
// inside of a loop is the sum of what changes in the loop and of one index variable for the rest,
// which is declared in front of the outermost loop that does not change it:
//   - what is a single variable or a constant stays where it is;
//   - loops to be unrolled are no loops here: their variables are constants;
//   - sums over several loops become one declaration per loop, each adding to the one outside of
//   it;
//   - equal sums in the loops of a block are declared once.
// Declarations are named after the pointer that they are used with, "A_at"; declarations of index
// variables move out of loops that do not change them.
LoopProgram HoistIndices(LoopProgram program);

}  // namespace mdh

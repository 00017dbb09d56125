// Constant folding, range analysis and dead code elimination: what constants and ranges decide is
// decided, and what is left without effect is dropped.
#pragma once

#include "codegen/program/loop_program.h"

namespace mdh {

// Expects any program whose indices are assigned once. Ensures the same computation in which
//   - conditions that hold or fail for all values of the loop variables, block and thread numbers
//     around them are gone, and branches that are never taken with them;
//   - loads from buffers with a boundary say in which dimensions all loads from that buffer are
//     always inside;
//   - conditions mention only what decides them: not which point of a vector it is where vectors
//     exist as a whole or not at all;
//   - loops of no iteration are gone; in the place of loops of one iteration there is their body,
//     with the loop's begin for its variable;
//   - index variables that have one constant value, or that of another variable, are replaced by
//   it;
//     quotients, remainders and minima that ranges decide are replaced by their operands;
//   - empty blocks, declarations that nothing uses, and comments on what is gone are dropped.
// Bodies that move into the block around them get new names where both declare the same one.
LoopProgram Simplify(LoopProgram program);

}  // namespace mdh

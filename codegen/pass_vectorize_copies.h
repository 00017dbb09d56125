// A pass: loops that copy neighbours become one wide load and one wide store.
#pragma once

#include <string>

#include "codegen/loop_program.h"

namespace mdh {

// Expects loops whose variable starts with `lane_prefix` to have sources at multiples of their
// iterations, relative to pointers that are aligned to as many elements: who makes such a loop
// knows. Ensures the same computation in which every loop
//   for lane = 0 .. w:  S[a + c * lane] = G[b + lane]
// with such a variable, with w 2, 4, 8 or 16, and w elements of at most 16 bytes is one load of w
// lanes and
//   - one store of w lanes if c is 1 and a is known to be a multiple of w;
//   - a store of w lanes with stride c, which is one element after the other, if c is not 1;
//   - otherwise a store of each lane.
// Other loops stay.
LoopProgram VectorizeCopies(LoopProgram program, const std::string& lane_prefix);

}  // namespace mdh

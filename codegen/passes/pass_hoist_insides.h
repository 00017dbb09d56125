// Loop-invariant code motion of the conditions under which elements are inside of a buffer.
#pragma once

#include "codegen/program/loop_program.h"

namespace mdh {

// Expects a program for CPUs in which a name that is in scope is not declared again. Ensures the
// same computation. Where a loop changes only those indices of an element that are inside of its
// buffer in any case (LoadInside, with a constant outside), and reaches few elements, whether the
// others are inside is said by a flag in front of the loop, and the loop reads through a pointer to
// the elements, or to as many constants. Elements that differ in the loop's indices only have it in
// common. So a convolution's tile at the edge of an image asks once for all channels which of its
// places exist, and computes as fast as any other tile. Loops to be unrolled are no loops here.
LoopProgram HoistInsides(LoopProgram program);

}  // namespace mdh

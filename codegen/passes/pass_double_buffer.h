// A pass: while a part is computed, the next one is loaded already (software pipelining of the
// copies into shared memory).
#pragma once

#include <cstdint>

#include "codegen/program/loop_program.h"

namespace mdh {

struct DoubleBufferOptions {
  // Most bytes that a thread may keep on their way from one memory to the other, per loop.
  int64_t private_bytes = 512;
};

// Expects what codegen/passes/copy_ahead.h says. Looks for loops
//   for v: CopyRegions with two stages, Barrier, computation, Barrier
// of which it is not known that they have one iteration or none, whose regions can be copied ahead
// (CopyAhead), where all loops of these have constant bounds, and their elements fit into
// DoubleBufferOptions. Ensures the same computation in which these arrays have two halves, and the
// loop is
//   copies of the first part, if there is one, into the first half, Barrier
//   for v: loads of the next part into private arrays, if there is one
//          computation, from the half that v is at
//          stores of the private arrays into the other half, Barrier
// Barriers that only waited for these copies are gone. Where the computation begins with a barrier,
// that of a pipeline of asynchronous copies, it serves for these arrays, too: the Barriers above
// are one behind the loop. Regions of one stage and asynchronous ones stay. All other programs stay
// as they are.
LoopProgram DoubleBuffer(LoopProgram program, const DoubleBufferOptions& options);

}  // namespace mdh

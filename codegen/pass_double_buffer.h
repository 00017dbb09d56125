// A pass: while a part is computed, the next one is loaded already (software pipelining of the
// copies into shared memory).
#pragma once

#include <cstdint>

#include "codegen/loop_program.h"

namespace mdh {

struct DoubleBufferOptions {
  // Most bytes that a thread may keep on their way from one memory to the other, per loop.
  int64_t private_bytes = 512;
};

// Expects a program in which a name that is in scope is not declared again, and in which the array
// of a CopyRegion is read only between a Barrier after the region and the next Barrier that the
// region's block has. Looks for loops
//   for v: CopyRegions with two stages, Barrier, computation, Barrier
// with constant begin and at least two iterations, where
//   - nothing but these regions stores to their arrays in the loop;
//   - the regions read no memory that the loop writes, and no values or pointers declared in it;
//   - all their loops have constant bounds, and their elements fit into DoubleBufferOptions.
// Ensures the same computation in which these arrays have two halves, and the loop is
//   copies of the first part into the first half, Barrier
//   for v: loads of the next part into private arrays, if there is one
//          computation, from the half that v is at
//          stores of the private arrays into the other half, Barrier
// Barriers that only waited for these copies are gone. Regions of one stage stay. All other
// programs stay as they are.
LoopProgram DoubleBuffer(LoopProgram program, const DoubleBufferOptions& options);

}  // namespace mdh

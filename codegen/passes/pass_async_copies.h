// A pass: copies into shared memory run beside the computation, several parts ahead (software
// pipelining by asynchronous copies).
#pragma once

#include <string>

#include "codegen/program/loop_program.h"

namespace mdh {

struct AsyncCopyOptions {
  // Loops whose variable starts with this copy neighbours from places that are aligned to as many
  // elements as they have iterations (VectorizeOptions).
  std::string lane_prefix = "lane";
};

// Expects what codegen/passes/copy_ahead.h says. Looks for loops
//   for v: asynchronous CopyRegions, Barrier, computation, Barrier
// that are not unrolled and do not have one iteration or none, as far as that is known; regions
// that
//   - can be copied ahead (CopyAhead), and
//   - store single elements of 4 or 8 bytes, loaded from what the program does not declare, or
//     neighbours of 4, 8 or 16 bytes in loops with that prefix, aligned on both sides.
// Ensures the same computation in which an array has room for S parts, the region's stages but no
// more than there are iterations, and the loop is
//   for p = 0 .. S-1: copies of part p, if there is one; commit
//   for v: wait until at most S-2 groups are outstanding, Barrier
//          copies of part v + S-1, if there is one, to where the part before v was; commit
//          computation of part v
//   Barrier
// Why one barrier is enough: it makes part v visible, for whose copies every thread has waited, and
// no thread begins copies behind it before all have computed the part before v, which was where
// they go. Every iteration commits, with or without copies, so that S-2 groups are behind that of
// part v when it is waited for; groups of loops inside only make a wait longer. When the loop ends,
// all copies have arrived, and the last Barrier lets others to the same arrays follow.
// Regions of different numbers of stages share a loop: each is as many parts ahead as the fewest
// allow. What else there is before the first Barrier stays there; then the last Barrier is in the
// loop. All other regions stay as they are: copies through registers.
LoopProgram MakeAsyncCopies(LoopProgram program, const AsyncCopyOptions& options);

}  // namespace mdh

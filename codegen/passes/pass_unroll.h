// Loop unrolling: says which loops the target's compiler shall unroll (appendix F: "aim to
// incorporate code-level optimizations, as loop unrolling, into our auto-tunable optimization
// process").
#pragma once

#include <cstdint>

#include "codegen/program/loop_program.h"

namespace mdh {

struct UnrollOptions {
  // Most points, which are iterations of innermost loops, that one unrolled loop nest may have.
  int64_t points = 1;
  // Whether loops whose variables index private arrays are unrolled however large they are. Without
  // constant indices such arrays are not in registers but in memory.
  bool private_arrays = true;
  // Most points of one with branches, or of a copy into shared memory, whatever `points` says:
  // compilers for GPUs need seconds for hundreds of branches in a row, and no time for a loop over
  // a hundred, and have no registers for as many elements on their way. What is beyond it is
  // unrolled by as many iterations as it allows.
  int64_t branching_points = 16;
};

// Expects any program. Ensures the same program in which more loops with constant bounds have
// For::unroll: innermost loops first, and loops around them as long as all loops inside are
// unrolled and the nest has no more points than the options say; and those over private arrays.
// Loops with For::unroll_by 1 stay as they are. Others that have branches, and more points than
// such may have, have For::unroll_by.
LoopProgram Unroll(LoopProgram program, const UnrollOptions& options);

}  // namespace mdh

// Vectorization of copies: loops that copy neighbours become one wide load and one wide store.
#pragma once

#include <string>

#include "codegen/program/loop_program.h"

namespace mdh {

struct VectorizeOptions {
  // Loops whose variable starts with this have their sources at multiples of their iterations,
  // relative to pointers that are aligned to as many elements: who makes such a loop knows.
  std::string lane_prefix = "lane";
  // Whether loops that fill or empty private arrays are made wide, too. These are registers then.
  bool private_arrays = true;
};

// Expects inputs and scratch buffers to be aligned to 16 bytes. Ensures the same computation in
// which every loop
//   for lane = 0 .. w:  S[a + c * lane] = G[b + lane]
// whose variable has that prefix, with w 2, 4, 8 or 16 and w elements of at most 16 bytes, is one
// load of w lanes and
//   - one store of w lanes if c is 1 and a is known to be a multiple of w;
//   - a store of w lanes with stride c, which is one element after the other, if c is not 1;
//   - otherwise a store of each lane;
// and in which every other loop
//   for x = 0 .. n:  R[a + x] = G[b + x]
// from memory into a private array or back, for which a and b are known to be multiples of a w that
// divides n, goes in steps of w lanes. So do loops
//   for x = 0 .. n:  G[a + x] += atomically R[b + x]
// from a private array. Other loops stay.
LoopProgram VectorizeCopies(LoopProgram program, const VectorizeOptions& options);

}  // namespace mdh

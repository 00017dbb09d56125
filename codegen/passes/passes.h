// The passes over loop programs, in order.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/program/loop_program.h"
#include "core/decomposition/tuning_parameters.h"

namespace mdh {

struct PassOptions {
  Lowering lowering = Lowering::kLevels;  // that made the program: which passes there are for it
  // Most points of a loop nest that is unrolled for the number of its points alone: the tuning
  // parameter `unroll`.
  int64_t unroll = 1;
  // Whether loops over private arrays are always unrolled, so that the arrays are in registers. Not
  // on CPUs, where they are in the first-level cache anyway.
  bool private_arrays_in_registers = true;
  // Loops whose variable starts with this copy neighbours from aligned places.
  std::string copy_loops = "lane";
  CopyOverlap copy_overlap = CopyOverlap::kNone;  // of asynchronous copies
  // Most bytes that a thread keeps for double buffering, per loop.
  int64_t prefetch_bytes = 512;
};

// Expects a program as codegen/lower/nest_program.h or, for register tiles,
// codegen/lower/tiles/build_loop_program.h builds it. Ensures the same computation with the
// postconditions of all passes for its lowering.
LoopProgram Optimize(LoopProgram program, const PassOptions& options);

}  // namespace mdh

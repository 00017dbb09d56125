// What a loop program for CPUs executes, counted by going through its loops: the judge of floors of
// configurations, which are less than what any compiler leaves of it.
#pragma once

#include <cstdint>

#include "codegen/program/loop_program.h"

namespace mdh {

struct ExecutedWork {
  int64_t joins = 0;  // elements of vectors that are put beside others, as none are neighbours
  int64_t loaded_bytes = 0;  // of all loads
};

// By one thread that runs the whole program, on a CPU with vectors of so many bytes. Expects a
// program without blocks of threads whose control depends on no data.
ExecutedWork ExecutedWorkOf(const LoopProgram& program, int64_t vector_bytes);

}  // namespace mdh

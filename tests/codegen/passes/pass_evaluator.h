// Executes loop programs as codegen/program/loop_program.h says what they mean: all threads of a
// block, and all blocks of a cluster, at the same time, one block or cluster after the other. What
// the tests of passes compare programs by.
//
// Failures of the running test: reading what nothing was written to, accesses outside of an array,
// offsets of wide accesses that are not aligned, two threads of a block or cluster that access the
// same element without a barrier between them, at least one to write it, reading the memory of a
// block that may have ended, and accesses to what an asynchronous copy has not reached yet: these
// arrive as late as they may.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "core/scalar/scalar_value.h"

namespace mdh {

// Elements by the name of a buffer or array; nullopt where nothing was written to.
using ProgramMemory = std::map<std::string, std::vector<std::optional<ScalarValue>>>;

// The memory after all stages. `may_read_unwritten`: elements that nothing was written to can be
// read, as 0, where the results do not depend on them.
ProgramMemory Execute(const LoopProgram& program, ProgramMemory memory,
                      bool may_read_unwritten = false);

}  // namespace mdh

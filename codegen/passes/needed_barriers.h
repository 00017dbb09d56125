// Barriers of a block of threads without which threads would see, or overwrite, what others have
// not yet stored or loaded; all other barriers are left out.
#pragma once

#include "codegen/program/loop_program.h"

namespace mdh {

// Expects a body whose threads meet at all of its barriers, and which is right with them: between
// two of them no thread needs what another one stores there. Arrays and buffers count as a whole. A
// barrier that is the first statement behind accesses that conflict with ones in front of the
// barrier before is needed, of several the last one; those within loops but `chunks`, and within
// branches that are taken under a condition, all stay. Names of memory that is nobody else's are
// those of private arrays.
//
// `chunks`: the variable of the loop over chunks, or none: barriers of its body are left out, too,
// where neither an iteration nor the next one needs them.
Block WithNeededBarriers(const Block& body, const std::string& chunks);

}  // namespace mdh

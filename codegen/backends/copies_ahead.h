// Copies of what a chunk needs, begun before the threads of a block wait for it.
#pragma once

#include <set>
#include <string>

#include "codegen/program/loop_program.h"

namespace mdh {

struct CopiesAhead {
  std::string chunk;                       // variable of the loop over chunks
  const std::set<std::string>& constants;  // buffers that nothing writes meanwhile
  bool asynchronous = false;               // the target has AsyncCopy
};

// The body with copies to shared memory in the loop over chunks moved to the barrier behind which
// nothing uses the array any more, if there is one: later barriers say that the copy is there. That
// may be one of the chunk before. So threads compute, on targets that copy asynchronously, what is
// between the two while a copy runs. Expects that all barriers are needed, and that only the copy
// stores to its array. A loop without two barriers, or with others inside of loops or branches,
// stays as it is.
// `names`: of all that the body declares, for what copies need elsewhere.
Block WithCopiesAhead(const Block& body, const CopiesAhead& how);

}  // namespace mdh

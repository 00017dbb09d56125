// Which parts the blocks and threads at hand compute (paper, appendix C.4).
#pragma once

#include "codegen/lower/levels/nest_context.h"

namespace mdh {

// For targets with blocks. Declares the number of the part of every level on blocks and threads
// that has several, and, with `needs_thread`, `tid`: the number of the thread in its block.
Block DeclareHardwareParts(NestContext& context, bool needs_thread);

}  // namespace mdh

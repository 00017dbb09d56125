// Scratch memory of generated C with gaps between the buffers in it.
#pragma once

#include <string>

namespace mdh {

// The kernel's source with 64 bytes in front of every buffer in scratch memory, which the address
// sanitizer forbids while a stage that uses the buffer runs: so an access beyond one is seen that
// would reach another. What shares memory because it is used in different stages goes on to do so.
// The same source where it has no scratch memory.
std::string WithScratchGaps(const std::string& source);

}  // namespace mdh

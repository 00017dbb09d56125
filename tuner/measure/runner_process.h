// The runner's side of the conversation: answers requests until the daemon closes the socket.
#pragma once

#include <string>

#include "core/status.h"

namespace mdh {

// `socket`: connected to the daemon. `path`: where compilers are looked for, as $PATH. The process
// must have a single thread. Returns when the daemon closes the socket or sends nonsense; OK in the
// first case.
Status ServeRunnerRequests(int socket, const std::string& path);

}  // namespace mdh

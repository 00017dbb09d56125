// The runner's side of the conversation: answers requests until the daemon closes the socket.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace mdh {

struct RunnerProcessOptions {
  int socket = -1;                        // connected to the daemon
  std::string path;                       // where compilers are looked for, as $PATH
  std::string cuda_root;                  // where the CUDA Toolkit is; empty: in the usual places
  std::vector<std::string> visible = {};  // more that compilers and drivers need; see Confine
};

// The process must have a single thread. Returns when the daemon closes the socket or sends
// nonsense; OK in the first case.
Status ServeRunnerRequests(const RunnerProcessOptions& options);

}  // namespace mdh

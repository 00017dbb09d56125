// The least that a unary call over gRPC costs: a server whose methods are raw, on one completion
// queue with one thread, which answers every request with the same bytes.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/status.h"

namespace mdh {

struct FloorOptions {
  std::string address;      // "unix:/path"
  size_t lookup_bytes = 0;  // of a reply of LookupKernel
  size_t batch_bytes = 0;   // of a reply of BatchLookupKernels
};

// Serves until the process is killed. Errors: Unavailable if the address cannot be listened on.
Status ServeFloor(const FloorOptions& options);

}  // namespace mdh

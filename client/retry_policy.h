// Which calls are repeated when the daemon cannot be reached for a moment.
#pragma once

#include <string>

namespace mdh {

// A gRPC service config: calls that only read, and those that create or join a tuning job, which
// has an id, are repeated after UNAVAILABLE, up to 4 times within their deadline, with pauses that
// grow from 50 ms to 1 s. Nothing else is repeated, and no other error.
std::string RetryServiceConfig();

}  // namespace mdh

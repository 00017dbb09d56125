// Where the daemon listens: which addresses are allowed, and whether a socket is free.
#pragma once

#include <string>

#include "core/status.h"

namespace mdh {

// The path of "unix:/path" or "unix:///path"; empty for other addresses.
std::string UnixSocketPath(const std::string& address);

// Errors: InvalidArgument if `address` is neither "unix:/path" nor "HOST:PORT", the path is too
// long for a socket, or the host is not a loopback one and `allow_any_host`, which TLS allows, is
// false.
Status CheckListenAddress(const std::string& address, bool allow_any_host);

// Makes way for a Unix socket: removes the file that a dead daemon left behind.
// Errors: Unavailable if a daemon listens there, FailedPrecondition if something else is in the
// way.
Status ClaimUnixSocket(const std::string& path);

}  // namespace mdh

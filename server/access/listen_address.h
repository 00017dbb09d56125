// Where the daemon listens: which addresses are allowed, and whether a socket is free.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/base/trusted_path.h"

namespace mdh {

// Errors: InvalidArgument if `address` is neither "unix:/path" nor "HOST:PORT", the path is too
// long for a socket, or the host is not a loopback one and `allow_any_host`, which TLS allows, is
// false.
Status CheckListenAddress(const std::string& address, bool allow_any_host);

// Makes way for a Unix socket: makes its folder, for this user alone, and removes the file that a
// dead daemon left behind. Errors: Unavailable if a daemon listens there, PermissionDenied if
// others own the folder or the socket or could replace them, FailedPrecondition if something else
// is in the way.
Status ClaimUnixSocket(const std::string& path, const TrustedUsers& trusted = {});

}  // namespace mdh

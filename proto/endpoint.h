// Where a daemon listens when nobody says otherwise, and whether who listens there is trusted:
// daemon and clients must agree on it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/base/trusted_path.h"

namespace mdh {

// "unix:<runtime_directory>/mdhd.sock", or "unix:/tmp/mdhd-<user_id>/mdhd.sock" if
// runtime_directory ($XDG_RUNTIME_DIR) is empty: the daemon makes the folder, for its user alone.
std::string DefaultEndpoint(std::string_view runtime_directory, unsigned user_id);

// Where the system service listens that the package installs.
inline constexpr std::string_view kSystemEndpoint = "unix:/run/mdhd/mdhd.sock";

// Where clients look when nobody says otherwise: DefaultEndpoint, but `system` if only that has a
// socket, or only that one is trusted.
std::string DefaultServer(std::string_view runtime_directory, unsigned user_id,
                          std::string_view system = kSystemEndpoint);

// "unix:/path".
bool IsUnixEndpoint(std::string_view endpoint);

// The path of "unix:/path", "unix:path" or "unix:///path"; empty for other addresses.
std::string UnixSocketPath(std::string_view endpoint);

// Whether only this machine takes part: a Unix socket, or "HOST:PORT" with a loopback host.
bool IsLocalEndpoint(std::string_view endpoint);

// Before anything is sent: OK for TCP; for a Unix socket if nobody could listen there but root, the
// user of this process, whom it trusts, and, at kSystemEndpoint, the user whom root gave the folder
// of the service. That does not change while one is connected (core/base/trusted_path.h). Errors:
// PermissionDenied, naming the socket, its owner and the remedy; NotFound if there is no socket and
// anybody could make it; InvalidArgument if the path is one that gRPC would read in another way.
Status CheckTrustedEndpoint(const std::string& endpoint, TrustedUsers trusted);

}  // namespace mdh

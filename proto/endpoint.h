// Where a daemon listens when nobody says otherwise: daemon and clients must agree on it.
#pragma once

#include <string>
#include <string_view>

namespace mdh {

// "unix:<runtime_directory>/mdhd.sock", or "unix:/tmp/mdhd-<user_id>.sock" if runtime_directory
// ($XDG_RUNTIME_DIR) is empty.
std::string DefaultEndpoint(std::string_view runtime_directory, unsigned user_id);

// Where the system service listens that the package installs.
inline constexpr std::string_view kSystemEndpoint = "unix:/run/mdhd/mdhd.sock";

// Where clients look when nobody says otherwise: DefaultEndpoint, but `system` if only that has a
// socket.
std::string DefaultServer(std::string_view runtime_directory, unsigned user_id,
                          std::string_view system = kSystemEndpoint);

// "unix:/path".
bool IsUnixEndpoint(std::string_view endpoint);

// Whether only this machine takes part: a Unix socket, or "HOST:PORT" with a loopback host.
bool IsLocalEndpoint(std::string_view endpoint);

}  // namespace mdh

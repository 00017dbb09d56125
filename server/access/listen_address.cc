#include "server/access/listen_address.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "proto/endpoint.h"

namespace mdh {
Status CheckListenAddress(const std::string& address, bool allow_any_host) {
  if (IsUnixEndpoint(address)) {
    const std::string path = UnixSocketPath(address);
    if (!path.starts_with("/")) {
      return InvalidArgument("'", address, "' has no absolute path: write unix:/path/of/socket");
    }
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
      return InvalidArgument("the path of '", address, "' is longer than ",
                             sizeof(sockaddr_un::sun_path) - 1, " bytes, the limit for sockets");
    }
    return absl::OkStatus();
  }
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return InvalidArgument("'", address, "' is neither unix:/path nor HOST:PORT");
  }
  if (!allow_any_host && !IsLocalEndpoint(address)) {
    return InvalidArgument(
        "'", address, "' is reachable from other machines without encryption or authentication; ",
        "give a certificate (--tls-certificate) or, if that is wanted, add --insecure-listen");
  }
  return absl::OkStatus();
}

Status ClaimUnixSocket(const std::string& path, const TrustedUsers& trusted) {
  // What others made there first is not taken over.
  MDH_RETURN_IF_ERROR(CheckTrustedPath(path, trusted));
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return FailedPrecondition("socket ", path, ": ", std::strerror(errno));
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    // Others could have made it meanwhile, in a shared folder.
    if (!error) return CheckTrustedPath(path, trusted);
    return FailedPrecondition("the folder of socket ", path, ": ", error.message());
  }
  if (!S_ISSOCK(status.st_mode)) return FailedPrecondition(path, " exists and is no socket");
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const absl::Cleanup close_probe = [probe] { close(probe); };
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return Unavailable("another mdhd is listening on unix:", path);
  }
  if (errno != ECONNREFUSED) return FailedPrecondition("socket ", path, ": ", std::strerror(errno));
  if (unlink(path.c_str()) != 0) {
    return FailedPrecondition("the stale socket ", path,
                              " cannot be removed: ", std::strerror(errno));
  }
  return absl::OkStatus();
}

}  // namespace mdh

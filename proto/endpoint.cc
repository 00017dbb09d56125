#include "proto/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kAbstract = "unix-abstract:";

bool HasSocket(std::string_view endpoint) {
  struct stat status = {};
  return stat(UnixSocketPath(endpoint).c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

// Only root can make an entry of /run, which is looked at, too: so whoever owns the service's
// folder was given it by root. The user of a service exists only while it runs and has no fixed
// number.
void AddSystemUser(TrustedUsers& trusted) {
  const std::string socket = UnixSocketPath(kSystemEndpoint);
  struct stat folder = {};
  if (lstat(socket.substr(0, socket.rfind('/')).c_str(), &folder) == 0 && S_ISDIR(folder.st_mode)) {
    trusted.Add(folder.st_uid);
  }
}

}  // namespace

std::string DefaultEndpoint(std::string_view runtime_directory, unsigned user_id) {
  if (runtime_directory.empty()) return absl::StrCat("unix:/tmp/mdhd-", user_id, "/mdhd.sock");
  return absl::StrCat("unix:", std::string(runtime_directory), "/mdhd.sock");
}

std::string DefaultServer(std::string_view runtime_directory, unsigned user_id,
                          std::string_view system) {
  std::string own = DefaultEndpoint(runtime_directory, user_id);
  const bool is_usable = HasSocket(own) && CheckTrustedEndpoint(own, {}).ok();
  return !is_usable && HasSocket(system) ? std::string(system) : own;
}

bool IsUnixEndpoint(std::string_view endpoint) { return endpoint.starts_with(kUnix); }

std::string UnixSocketPath(std::string_view endpoint) {
  if (!IsUnixEndpoint(endpoint)) return "";
  std::string path(endpoint.substr(kUnix.size()));
  if (path.starts_with("///")) path = path.substr(2);
  return path;
}

bool IsLocalEndpoint(std::string_view endpoint) {
  if (IsUnixEndpoint(endpoint)) return true;
  const std::string host(endpoint.substr(0, endpoint.rfind(':')));
  in_addr address = {};
  // A name may begin with "127.", too.
  const bool is_loopback = inet_pton(AF_INET, host.c_str(), &address) == 1 &&
                           (ntohl(address.s_addr) >> 24) == IN_LOOPBACKNET;
  return is_loopback || host == "localhost" || host == "[::1]";
}

Status CheckTrustedEndpoint(const std::string& endpoint, TrustedUsers trusted) {
  if (trusted.includes_everybody()) return absl::OkStatus();
  if (endpoint.starts_with(kAbstract)) {
    return PermissionDenied(endpoint,
                            ": anybody can take an abstract name; use a socket in a folder");
  }
  const std::string path = UnixSocketPath(endpoint);
  if (path.empty()) return absl::OkStatus();
  if (path.find_first_of("%?#") != std::string::npos || path.starts_with("//")) {
    return InvalidArgument("the path of a socket has no '%', '?' or '#': ", path);
  }
  if (path == UnixSocketPath(kSystemEndpoint)) AddSystemUser(trusted);
  const Status checked = CheckTrustedPath(path, trusted, PathUse::kSocket);
  if (!absl::IsPermissionDenied(checked)) return checked;
  return PermissionDenied("nothing is sent to the socket ", checked.message());
}

}  // namespace mdh

#include "proto/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr std::string_view kUnix = "unix:";

bool HasSocket(std::string_view endpoint) {
  const std::string path(endpoint.substr(kUnix.size()));
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

std::string DefaultEndpoint(std::string_view runtime_directory, unsigned user_id) {
  if (runtime_directory.empty()) return absl::StrCat("unix:/tmp/mdhd-", user_id, ".sock");
  return absl::StrCat("unix:", std::string(runtime_directory), "/mdhd.sock");
}

std::string DefaultServer(std::string_view runtime_directory, unsigned user_id,
                          std::string_view system) {
  std::string own = DefaultEndpoint(runtime_directory, user_id);
  return !HasSocket(own) && HasSocket(system) ? std::string(system) : own;
}

bool IsUnixEndpoint(std::string_view endpoint) { return endpoint.starts_with(kUnix); }

bool IsLocalEndpoint(std::string_view endpoint) {
  if (IsUnixEndpoint(endpoint)) return true;
  const std::string host(endpoint.substr(0, endpoint.rfind(':')));
  in_addr address = {};
  // A name may begin with "127.", too.
  const bool is_loopback = inet_pton(AF_INET, host.c_str(), &address) == 1 &&
                           (ntohl(address.s_addr) >> 24) == IN_LOOPBACKNET;
  return is_loopback || host == "localhost" || host == "[::1]";
}

}  // namespace mdh

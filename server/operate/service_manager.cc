#include "server/operate/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {

ServiceManager::ServiceManager(std::string socket, const std::string& watchdog_us,
                               const std::string& watchdog_pid)
    : socket_(std::move(socket)) {
  int64_t limit_us = 0, pid = 0;
  const bool is_mine =
      watchdog_pid.empty() || (absl::SimpleAtoi(watchdog_pid, &pid) && pid == getpid());
  if (!socket_.empty() && is_mine && absl::SimpleAtoi(watchdog_us, &limit_us) && limit_us > 0) {
    watchdog_interval_ = absl::Microseconds(limit_us) / 2;  // as sd_watchdog_enabled(3) advises
  }
}

Status ServiceManager::TellReady(const std::string& status) const {
  return Send(absl::StrCat("READY=1\nSTATUS=", status));
}

Status ServiceManager::TellReloading() const {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Send(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=",
                           int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000));
}

Status ServiceManager::TellStopping() const { return Send("STOPPING=1"); }

Status ServiceManager::Send(const std::string& state) const {
  if (socket_.empty()) return absl::OkStatus();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path) {
    return Unavailable("the path of the manager's socket is too long");
  }
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // abstract
  const int file = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const bool is_sent = file >= 0 && sendto(file, state.data(), state.size(), MSG_NOSIGNAL,
                                           reinterpret_cast<const sockaddr*>(&address), size) >= 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (is_sent) return absl::OkStatus();
  return Unavailable("the service manager at ", socket_, ": ", std::strerror(error));
}

}  // namespace mdh

// The service manager that started the daemon, systemd or one that speaks as it does: it is told
// when the daemon is ready, and that it still works (sd_notify(3)).
#pragma once

#include <string>

#include "absl/time/time.h"
#include "core/base/status.h"

namespace mdh {

// Thread-safe.
class ServiceManager {
 public:
  // `socket`: $NOTIFY_SOCKET; empty: there is none, and nothing is sent. `watchdog_us`:
  // $WATCHDOG_USEC. `watchdog_pid`: $WATCHDOG_PID; another process's watchdog is not ours.
  ServiceManager(std::string socket, const std::string& watchdog_us,
                 const std::string& watchdog_pid);

  // How often the manager wants to hear that all is well; infinite: never.
  absl::Duration watchdog_interval() const { return watchdog_interval_; }

  // Errors: Unavailable if the manager's socket does not take it; the daemon goes on all the same.
  Status TellReady(const std::string& status) const;
  Status TellReloading() const;
  Status TellStopping() const;
  Status TellAlive() const { return Send("WATCHDOG=1"); }

 private:
  Status Send(const std::string& state) const;

  const std::string socket_;
  absl::Duration watchdog_interval_ = absl::InfiniteDuration();
};

}  // namespace mdh

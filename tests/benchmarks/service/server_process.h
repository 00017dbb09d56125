// A server in a process of its own, and what the kernel says that it uses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace mdh {

// Killed, if it still runs, when this ends. Not thread-safe.
class ServerProcess {
 public:
  // Standard error goes to the file `log`. Errors: FailedPrecondition if it cannot be started.
  static Result<std::unique_ptr<ServerProcess>> Start(const std::vector<std::string>& words,
                                                      const std::string& log);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Sends SIGTERM and waits for the end.
  void Stop();
  // Time on a core since the start, of all threads that there are, without child processes.
  double CpuSeconds() const;
  // Memory that is in use, and that was in use at most.
  int64_t ResidentBytes() const;
  int64_t PeakResidentBytes() const;

 private:
  explicit ServerProcess(pid_t pid) : pid_(pid) {}
  int64_t StatusBytes(const std::string& field) const;
  pid_t pid_;
};

}  // namespace mdh

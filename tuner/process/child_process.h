// Child processes with limits, each the leader of a process group, so that all it starts ends with
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"

namespace mdh {

struct ChildLimits {
  int64_t cpu_s = 0;                // 0: no limit
  int64_t address_space_bytes = 0;  // 0: no limit
  int64_t file_bytes = 0;           // of every file that it writes; 0: no limit
  int nice = 0;                     // how much the child steps back behind others
  bool no_network = false;          // where the system lets a process give it up
  const char* name = nullptr;       // as process lists show it
  int socket = -1;                  // a descriptor that the child keeps, as kChildSocket
  std::vector<int> cores = {};      // that the child is restricted to; empty: as its parent
};

inline constexpr int kChildSocket = 3;

// Restricts this process, and what it starts, to `cores` (empty: no change). Errors:
// InvalidArgument if it may run on none of them.
Status RestrictToCores(const std::vector<int>& cores);

// Leaves the network, and everything that this process starts with it, if the system allows that.
void LeaveNetwork();

struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // 0: it exited with exit_code
};

// "SIGSEGV (segmentation fault)".
std::string SignalName(int signal);

// Owns the child: the destructor kills it and its process group. Not thread-safe.
class ChildProcess {
 public:
  // Forks. The child runs `body` and exits with its result; it has default signal handling,
  // /dev/null as standard streams, no core file, and dies when its parent does. Only for processes
  // with a single thread. Errors: ResourceExhausted.
  static Result<ChildProcess> Fork(const ChildLimits& limits, const std::function<int()>& body);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // Of the child; -1 when it has ended.
  pid_t pid() const { return pid_; }
  // How the child ended, nullopt while it runs. Whatever is left of its process group is killed.
  std::optional<ChildEnd> Poll();
  // Kills the process group and waits for the child's end.
  void Kill();
  // Stops the process group until it is continued.
  void Stop() const;
  void Continue() const;

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  void Reap();
  pid_t pid_ = -1;  // -1: moved from or reaped
  std::optional<ChildEnd> end_;
};

// Limits the address space of the calling process, a child that is about to become another program.
void LimitAddressSpace(int64_t bytes);

// How a process that waits for children learns that it should stop.
class Supervisor {
 public:
  virtual ~Supervisor() = default;
  // Returns when a child ended (or may have), after `timeout_ns`, or when interrupted.
  void Wait(int64_t timeout_ns) { WaitFor({}, timeout_ns); }
  // Also when one of the sockets has something to be read.
  virtual void WaitFor(absl::Span<const int> sockets, int64_t timeout_ns) = 0;
  // The caller no longer wants the result of the current request.
  virtual bool interrupted() const = 0;
};

// Must be called once, before the first Wait of a SignalSupervisor or the first fork: makes the end
// of a child wake a waiting ppoll.
void PrepareToSupervise();

// Waits without anything that interrupts. For tests and programs without a client.
class PatientSupervisor final : public Supervisor {
 public:
  void WaitFor(absl::Span<const int> sockets, int64_t timeout_ns) override;
  bool interrupted() const override { return false; }
};

// ppoll on `sockets` that ends early when a child ends. True if the first of them is readable.
bool WaitForChildOrInput(absl::Span<const int> sockets, int64_t timeout_ns);

}  // namespace mdh

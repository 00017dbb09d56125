// The processes of this machine, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace mdh {

struct ProcessState {
  pid_t pid;
  pid_t parent;
  pid_t session;
  bool has_ended;  // a zombie, which its parent has not waited for yet
};

// nullopt if there is no such process, or if it ends meanwhile.
std::optional<ProcessState> ReadProcessState(pid_t pid);

// All that are there, in no order. Those that start or end meanwhile may be missing.
std::vector<ProcessState> ReadProcessStates();

}  // namespace mdh

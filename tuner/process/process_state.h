// The processes of this machine, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdh {

struct ProcessState {
  pid_t pid;
  pid_t parent;
  pid_t session;
  bool has_ended;    // a zombie, which its parent has not waited for yet
  std::string name;  // of the program, 15 characters at most
  int64_t start;     // in ticks since the system's start: with the pid it says which process it is
};

// nullopt if there is no such process, or if it ends meanwhile.
std::optional<ProcessState> ReadProcessState(pid_t pid);

// All that are there, in no order. Those that start or end meanwhile may be missing.
std::vector<ProcessState> ReadProcessStates();

}  // namespace mdh

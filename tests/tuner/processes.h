// The processes of this machine, as tests look at them.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tuner/process/process_state.h"

namespace mdh {

inline bool IsAlive(pid_t pid) {
  const std::optional<ProcessState> state = ReadProcessState(pid);
  return state && !state->has_ended;
}

// Living processes that this one has started, and those that they have started.
inline std::vector<pid_t> Descendants() {
  const std::vector<ProcessState> processes = ReadProcessStates();
  std::vector<pid_t> found = {getpid()};
  for (size_t at = 0; at < found.size(); ++at) {
    for (const ProcessState& process : processes) {
      if (process.parent == found[at] && !process.has_ended) found.push_back(process.pid);
    }
  }
  found.erase(found.begin());
  return found;
}

// Descendants whose name process lists show so.
inline std::vector<pid_t> DescendantsNamed(const std::string& name) {
  std::vector<pid_t> named;
  for (const pid_t pid : Descendants()) {
    std::ifstream stream("/proc/" + std::to_string(pid) + "/comm");
    std::string command;
    std::getline(stream, command);
    if (command == name) named.push_back(pid);
  }
  return named;
}

}  // namespace mdh

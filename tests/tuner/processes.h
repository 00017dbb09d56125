// The processes of this machine, as tests look at them.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"

namespace mdh {

// State letter and parent; 0 and 0 if there is no such process. A zombie counts as gone.
inline std::pair<char, pid_t> StateAndParent(const std::string& pid) {
  std::ifstream stream("/proc/" + pid + "/stat");
  const std::string line((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {0, 0};
  std::istringstream fields(line.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return {state, parent};
}

inline bool IsAlive(pid_t pid) {
  const char state = StateAndParent(std::to_string(pid)).first;
  return state != 0 && state != 'Z';
}

// Living processes that this one has started, and those that they have started.
inline std::vector<pid_t> Descendants() {
  std::vector<std::pair<pid_t, pid_t>> parents;  // child, parent
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    int pid = 0;
    if (!absl::SimpleAtoi(name, &pid)) continue;
    const auto [state, parent] = StateAndParent(name);
    if (state != 0 && state != 'Z') parents.emplace_back(pid, parent);
  }
  std::vector<pid_t> found = {getpid()};
  for (size_t at = 0; at < found.size(); ++at) {
    for (const auto& [child, parent] : parents) {
      if (parent == found[at]) found.push_back(child);
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

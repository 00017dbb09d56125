#include "tuner/measure/process_state.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {

std::optional<ProcessState> ReadProcessState(pid_t pid) {
  std::ifstream stream(absl::StrCat("/proc/", pid, "/stat"));
  // Reading fails if the process ends meanwhile: this way of reading leaves out the rest, iterators
  // throw.
  std::ostringstream text;
  text << stream.rdbuf();
  const std::string line = text.str();
  // The command's name may contain anything, but ends at the last ')'.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  char letter = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  if (!(fields >> letter >> parent >> group >> session)) return std::nullopt;
  return ProcessState{pid, parent, session, letter == 'Z' || letter == 'X'};
}

std::vector<ProcessState> ReadProcessStates() {
  std::vector<ProcessState> states;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    if (const auto state = ReadProcessState(pid)) states.push_back(*state);
  }
  return states;
}

}  // namespace mdh

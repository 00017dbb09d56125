#include "tuner/process/process_state.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr int kStartField = 22;

}  // namespace

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
  // From the terminal, the 7th, to the 21st field of proc(5).
  int64_t field = 0;
  for (int n = 7; n < kStartField; ++n) fields >> field;
  int64_t start = 0;
  if (!(fields >> start)) return std::nullopt;
  const size_t name_begin = line.find('(') + 1;
  return ProcessState{.pid = pid,
                      .parent = parent,
                      .session = session,
                      .has_ended = letter == 'Z' || letter == 'X',
                      .name = line.substr(name_begin, name_end - name_begin),
                      .start = start};
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

// Commands of a shell with a time limit, which end with everything that they started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace mdh {

struct ShellCommand {
  std::string command;
  std::string directory;                 // where it runs
  std::vector<std::string> environment;  // "NAME=VALUE", besides this process's
  int64_t time_limit_ns = 0;
  size_t max_output_bytes = size_t{16} << 20;  // of each stream; what is more is dropped
};

struct CommandEnd {
  bool timed_out = false;
  int signal = 0;  // 0: it exited with exit_code
  int exit_code = 0;
  int64_t time_ns = 0;  // from its start to its end
  std::string out;
  std::string err;
  bool is_cut = false;  // some output was dropped
};

// Runs it with /bin/sh in a process group of its own and waits for its end; then, or at its time
// limit, everything that it started ends, too. Expects to be alone in starting processes in this
// process. Errors: ResourceExhausted if no process can be started.
Result<CommandEnd> RunShellCommand(const ShellCommand& command);

// From now on processes whose parents ended become children of this process, so that
// RunShellCommand also ends those that left their process group.
void AdoptOrphans();

// Kills all children, and what they leave behind if orphans are adopted. Thread-safe.
void KillDescendants();

}  // namespace mdh

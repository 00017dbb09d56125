// What a runner, and all that it starts, may reach: compilers, drivers, one folder, and nothing
// else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "tuner/device/device_selector.h"

namespace mdh {

enum class ConfinementMode : uint8_t {
  kAuto = 0,     // as much as the system allows
  kRequire = 1,  // all, or nothing is run
  kOff = 2,
};

// "auto", "require", "off". Errors: InvalidArgument.
Result<ConfinementMode> ParseConfinementMode(std::string_view name);

struct ConfinementOptions {
  ConfinementMode mode = ConfinementMode::kAuto;
  DeviceKind kind = DeviceKind::kCpu;  // decides on device files and sockets
  std::string work_directory;          // absolute; the only folder that is kept and may be written
  std::vector<std::string> visible = {};  // more files and folders that may be read; absolute
  // Called in a process that is confined and ends afterwards: whether what is to be done there
  // works, as drivers may need more than is visible. Empty: it is taken to work.
  std::function<Status()> check = {};
  int socket = -1;  // the caller's; whoever waits outside closes its copy
};

// Goes on in a confined process, whose name and session are those of the caller: in name spaces of
// its own for users, mounts, processes, network, System V objects and host name; with a file system
// of which only what programs, compilers and drivers need is visible, to be read; without
// privileges, and with a filter of system calls (system_call_filter.h). The calling process stays
// behind, ends when the confined one does, and in the same way; when it dies, so does all that is
// inside.
//
// Gives what is in force, for people: "namespaces user mount pid network ipc uts; system calls are
// filtered". Must be called while the process has a single thread. Errors: FailedPrecondition if
// all of it is required and cannot be had.
Result<std::string> Confine(const ConfinementOptions& options);

}  // namespace mdh

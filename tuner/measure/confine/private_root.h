// A file system in which only some of the machine's files can be seen.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/device/device_selector.h"

namespace mdh {

struct PrivateRoot {
  DeviceKind kind = DeviceKind::kCpu;  // whose device files are there
  std::string writable;                // a folder that may be written, at the same place
  std::vector<std::string> visible;    // more that may be read; what is not there is left out
};

// For a process in mount and process name spaces of its own, with the right to mount. Afterwards it
// sees programs, libraries, the settings of compilers and drivers, its own processes, /sys (all of
// this to be read), an empty /tmp in memory, and `writable`. Errors: FailedPrecondition, saying
// what cannot be mounted; then the process may see anything.
Status EnterPrivateRoot(const PrivateRoot& root);

}  // namespace mdh

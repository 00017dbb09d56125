// What the control groups of this process leave it of the machine.
#pragma once

#include <cstdint>
#include <string>

namespace mdh {

// Zero: no limit.
struct CgroupLimits {
  double cpus = 0;  // 1.5: of every 100 ms, it may use 150 ms of CPU time
  int64_t memory_bytes = 0;
};

// Of the process's groups and of all above them, in versions 1 and 2, the least, as far as /proc
// and /sys below `root` show them.
CgroupLimits ReadCgroupLimits(const std::string& root = "");

}  // namespace mdh

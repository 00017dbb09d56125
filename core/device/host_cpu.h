// This machine's CPU as a process may use it: what of it a container leaves, which threads share a
// core, which cores are fast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_description.h"

namespace mdh {

// Where it is looked at.
struct HostView {
  // Before "/proc" and "/sys"; empty: this system's.
  std::string root = "";
  // Hardware threads that this process may run on; nullopt: as the system says.
  std::optional<std::vector<int>> allowed = std::nullopt;
};

struct HardwareThread {
  int number = 0;    // of the system
  int core = 0;      // the number of the first thread of its core
  double speed = 0;  // in no unit, to compare; 0: unknown
};

// Of those that this process may run on, rising. Without /sys each is a core of its own.
std::vector<HardwareThread> ReadHardwareThreads(const HostView& view = {});

// The numbers in the order in which a kernel's threads should take them: one thread of each core,
// the fast ones first, then the others of the cores.
std::vector<int> PlacementOrder(std::vector<HardwareThread> threads);

// Whether some of them share a core or are slower than others, so that the order matters.
bool AreUnlike(const std::vector<HardwareThread>& threads);

// As DescribeHostCpu(). `cores` is no more than the CPUs that the process may run on and that the
// quotas of its control groups amount to, rounded up. Where these are fewer, or cores differ in
// speed, `name` says so at its end: kernels are tuned for that device, "A CPU (1.5 CPUs of its
// control group)".
Result<DeviceDescription> DescribeHostCpu(const HostView& view);

}  // namespace mdh

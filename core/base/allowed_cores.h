// The cores that a process may run on.
#pragma once

#include <vector>

namespace mdh {

// Numbers of the cores that the calling thread may run on (sched_getaffinity(2)), ascending: in
// containers and under taskset(1) fewer than the machine has. Empty: the system does not say.
std::vector<int> AllowedCores();

}  // namespace mdh

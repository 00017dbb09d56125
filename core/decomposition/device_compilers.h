// Which C compilers a CPU's description names.
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"

namespace mdh {

// Those that `device.compiler` names ("gcc 12.2.0, clang 14.0.6"), gcc first: kernels can be made
// for these only. gcc if it names none, as of a device that is only described.
std::vector<Compiler> CompilersOf(const DeviceDescription& device);

}  // namespace mdh

// What this machine can do at best: microbenchmarks that tuned kernels are compared with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device_description.h"
#include "core/status.h"
#include "tuner/measure/compilers.h"
#include "tuner/measure/runner.h"

namespace mdh {

// Compiles and runs the microbenchmarks; takes one or two seconds.
// Errors: Internal if one of them does not work, Cancelled, what Compile says.
Result<MachinePeaks> MeasurePeaks(const DeviceDescription& device, int threads,
                                  Compilers& compilers, Supervisor& supervisor);

// The C sources; entry "mdh_peak", one output of one fp64 element per thread.
std::string ArithmeticPeakSource(const DeviceDescription& device, ScalarType type);
std::string BandwidthPeakSource(int64_t bytes);
std::string CopyPeakSource(int64_t bytes);
std::vector<std::string> PeakCompileOptions();

// Operations of each thread in a call of the first.
double ArithmeticPeakOperations(const DeviceDescription& device, ScalarType type);
// Of arrays that no cache of the device keeps.
int64_t PeakBytes(const DeviceDescription& device);

}  // namespace mdh

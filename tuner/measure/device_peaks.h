// What a device of blocks of threads can do at best: microbenchmarks that tuned kernels are
// compared with.
#pragma once

#include <functional>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "tuner/measure/executor/device_kernels.h"
#include "tuner/measure/runner.h"
#include "tuner/measure/trial/candidate_run.h"

namespace mdh {

// Output of the microbenchmarks; they have no inputs.
std::vector<OutputBuffer> PeakOutputs();

// The shortest time of a call, and whether others disturbed all of them.
struct CallTime {
  double ns = 0;
  bool is_disturbed = false;
};

// `time_of` runs a microbenchmark. Errors: what it says.
Result<MachinePeaks> MeasureDevicePeaks(
    const DeviceDescription& device, const std::function<Result<CallTime>(const Kernel&)>& time_of);

}  // namespace mdh

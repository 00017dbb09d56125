// What this machine can do at best, which tuned kernels are compared with.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "tuner/measure/compile/compilers.h"
#include "tuner/measure/runner.h"

namespace mdh {

// Compiles and runs the microbenchmarks; takes one or two seconds, longer on a machine that others
// use. Errors: Internal if one of them does not work, Cancelled, what Compile says.
Result<MachinePeaks> MeasurePeaks(const DeviceDescription& device, int threads,
                                  Compilers& compilers, Supervisor& supervisor);

// The largest of several figures, and whether two of them are about as large: what others on the
// machine make smaller is believed when it was reached twice.
struct Reproduced {
  double most = 0;
  bool is_reproduced = false;
};
// Measures until that is so, and `is_sure` if it is given, a few times at most: on a machine that
// others use each may take seconds, so that none is begun after `limit_ns` but the first. Errors:
// those of `measure`.
Result<Reproduced> MeasureUntilReproduced(const std::function<Result<double>()>& measure,
                                          const std::function<bool()>& is_sure = nullptr,
                                          int64_t limit_ns = 5'000'000'000);

}  // namespace mdh

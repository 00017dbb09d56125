// The least time that a computation can take on a device: what is faster was not measured right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/device_description.h"
#include "core/expression.h"
#include "tuner/measure/runner.h"

namespace mdh {

// Peaks are measured, not proven: a candidate may exceed them by this factor.
inline constexpr double kPeakTolerance = 1.5;

// Of both what is better: a peak is what was reached at least once. An overhead of 0 was not
// measured.
MachinePeaks Better(const MachinePeaks& a, const MachinePeaks& b);

// Why `time_ns` for one call cannot be; nullopt if it can. The arithmetic of the computation takes
// its time at the device's peak; so does moving every byte of inputs and outputs once, where that
// is certain: with cold caches, or with more bytes than four times the caches hold. Peaks that are
// 0 are not known.
std::optional<std::string> WhyImplausible(const Expression& expression, double time_ns,
                                          CacheState cache, const DeviceDescription& device,
                                          const MachinePeaks& peaks);

}  // namespace mdh

// The least time that a computation can take on a device: what is faster was not measured right.
#pragma once

#include <optional>
#include <string>

#include "core/device/device_description.h"
#include "core/device/machine_peaks.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "tuner/measure/results/measure_options.h"

namespace mdh {

// Peaks are measured, not proven: a candidate may exceed them by this factor.
inline constexpr double kPeakTolerance = 1.5;

// Of both what is better: a peak is what was reached at least once. An overhead of 0 was not
// measured.
MachinePeaks Better(const MachinePeaks& a, const MachinePeaks& b);

// Whether the expression computes in double precision: then the peak of fp64 bounds it.
bool IsDoublePrecision(const Expression& expression);

// Floating-point operations that no kernel can do without (codegen/bounds/certain_work.h).
double CertainOperations(const Expression& expression);

// Why `time_ns` for one call contradicts the peaks; nullopt if it does not. The certain operations
// take their time at the device's peak; so does moving every byte of inputs and outputs once, where
// that is certain: with cold caches, or with more bytes than four times the caches hold. Peaks that
// are 0 are not known. Contractions may take what matrix units do at most (UnitPeak of
// codegen/program/contraction_units.h), by the products of the policy, too.
std::optional<std::string> WhyImplausible(const Expression& expression, double time_ns,
                                          CacheState cache, const DeviceDescription& device,
                                          const MachinePeaks& peaks,
                                          NumericsPolicy numerics = NumericsPolicy::kReassociate);

// Why `time_ns` cannot be whatever was measured: units would have to do more than they can
// (codegen/bounds/problem_bound.h); nullopt if it can.
std::optional<std::string> WhyImpossible(const Expression& expression, double time_ns,
                                         const DeviceDescription& device, const MachinePeaks& peaks,
                                         NumericsPolicy numerics = NumericsPolicy::kReassociate);
// The peaks as they must be at least if that time is right.
MachinePeaks RaisedBy(const Expression& expression, double time_ns, CacheState cache,
                      const DeviceDescription& device, MachinePeaks peaks);

}  // namespace mdh

// The plainest kernel of a computation for a device: what a user would write first, and what
// computes references of large problems.
#pragma once

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

// One thread per result, which reads and combines all values one after the other, without copies.
// `device` has blocks of threads. Errors: InvalidArgument if the device's limits do not allow that.
Result<TuningParameters> PlainParameters(const Expression& expression,
                                         const DeviceDescription& device, NumericsPolicy numerics);

// The kernel of these. Errors: also what Lower and GenerateKernel say.
Result<Kernel> GeneratePlainKernel(const Expression& expression, const DeviceDescription& device,
                                   NumericsPolicy numerics);

}  // namespace mdh

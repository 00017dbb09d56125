// The door to code generation: from a low-level expression to a kernel.
#pragma once

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/device_description.h"

namespace mdh {

// Expects the device that it was lowered for. The backend (codegen/backends/backends.h) of the
// low-level expression's model. Errors: as there.
Result<Kernel> GenerateKernel(const LowLevelExpression& low_level, const DeviceDescription& device);

}  // namespace mdh

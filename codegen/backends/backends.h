// The targets: each gives a kernel in the language of the device for a low-level expression.
#pragma once

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"

namespace mdh {

// Expect a low-level expression for a model of the target: OpenMP with or without caches and SIMD;
// a model of devices with blocks of threads. Ensure that the kernel computes what Interpret
// computes, up to re-association of the combine operators as its numerics policy allows. Errors:
// Unimplemented where parts are on several devices, ResourceExhausted if MDAs between phases that
// are set apart are too large, Internal.
Result<Kernel> GenerateOpenMp(const LowLevelExpression& low_level, const DeviceDescription& device);
Result<Kernel> GenerateBlockKernel(const LowLevelExpression& low_level,
                                   const DeviceDescription& device);

}  // namespace mdh

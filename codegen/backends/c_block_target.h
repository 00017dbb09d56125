// The backends of targets with blocks of threads: low-level expression -> loop program -> passes ->
// kernel functions.
#pragma once

#include "codegen/print/c_dialect.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/device_description.h"

namespace mdh {

// The whole kernel in that language, without the options of its compiler. Errors: those of
// BuildNestProgram.
Result<Kernel> GenerateBlockKernel(const LowLevelExpression& low_level,
                                   const DeviceDescription& device, const CDialect& dialect);

}  // namespace mdh

// Phases that are set apart (paper, Table 1: D1 and D2, S1 and S2, R1 and R2 do not coincide):
// every phase is a loop nest of its own, with low-level MDAs in memory between them.
#pragma once

#include "codegen/program/loop_program.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/device_description.h"

namespace mdh {

// Every nest is the program of an expression: de-composition gives the MDA of f's parameters, the
// scalar phase that of its results, and re-composition combines it. Arrays between them hold one
// element per point.
// Errors: ResourceExhausted if these arrays are too large.
Result<LoopProgram> BuildSeparatePhases(const LowLevelExpression& low_level,
                                        const DeviceDescription& device);

}  // namespace mdh

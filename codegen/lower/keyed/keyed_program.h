// Results by key (histograms, scatter-reduce) on targets with blocks of threads (KeyedParameters):
// every element is looked up once in a table of the keys, instead of being compared with each of
// them.
#pragma once

#include "codegen/program/loop_program.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/device_description.h"

namespace mdh {

// Expects valid parameters with KeyedParameters other than the default. One stage sets the outputs
// to the identity of the operator that combines them. In the other, every block makes a table of a
// batch's keys in shared memory, combines the values of the elements of its part there, each with
// what is at its key, and those of every key with the outputs. Without the first stage if a part is
// all of a batch.
LoopProgram BuildKeyedProgram(const LowLevelExpression& low_level, const DeviceDescription& device);

}  // namespace mdh

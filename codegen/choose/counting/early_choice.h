// Which calls begin before what is in front of them in the stream has ended (EarlyLaunches).
#pragma once

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"

namespace mdh {

// Whether launches that may begin early do so: NVIDIA's do from compute capability 9.0 on, as has
// clusters.
bool BeginLaunchesEarly(const DeviceDescription& device);

// Whether the inputs are so few bytes that all blocks together bring them to the cache before one
// of them could ask for what it needs: what comes from memory is then much of the time.
bool HasFewInputBytes(const Expression& expression);

// Of a nest for which counting expects so many cycles: short calls, of which launches and the way
// of the first inputs from memory are much of the time, begin early, and so do those whose first
// stage reads no inputs, which would be no constants then (CombineBlocks::kAtomics). Blocks of
// longer calls would be spread less evenly over multiprocessors, as those in front of them still
// run.
EarlyLaunches EarlyByCounting(const Expression& expression, const DeviceDescription& device,
                              CombineBlocks combine, double cycles);

}  // namespace mdh

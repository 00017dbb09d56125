// Random valid configurations of the level-by-level lowering: what property tests run over besides
// random expressions.
#pragma once

#include <optional>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "tests/random_expression.h"

namespace mdh {

// Tiles that divide and tiles that do not; nested and interleaved orders of the levels; dimensions
// permuted and layers swapped by the assignment; regions, layouts, padding, width and stages of
// copies; results kept in registers, shared and device memory; threads and blocks along reductions
// and prefix sums; rarely phases of their own. All of it valid, and never the parameters of
// register tiles. Threads per block stay within `device`'s limit, which callers may lower. The same
// generator state gives the same parameters on every machine. nullopt if there are none: not even
// the plainest decomposition is valid.
std::optional<TuningParameters> RandomNestParameters(Rng& rng, const Expression& expression,
                                                     const SystemModel& model,
                                                     const DeviceDescription& device,
                                                     NumericsPolicy numerics);

}  // namespace mdh

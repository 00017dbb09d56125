// A configuration from rules: what a caller gets before tuning, and where the search starts.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Configurations that count as good by rules (codegen/choose/tiles/tile_choice.h), the best first:
// at least one, at most `most`, different and valid; the best also with the other compiler, if the
// device has it, and with results that stay in caches, or pass those of a core, other than it has.
// For devices with blocks of threads those of codegen/choose/default_block_parameters.h. `runs`: as
// of RankTiles.
std::vector<TuningParameters> StartingParameters(
    const Expression& expression, const SystemModel& model, const DeviceDescription& device,
    NumericsPolicy numerics = NumericsPolicy::kReassociate, size_t most = 10,
    absl::Span<const int64_t> runs = {});

// The first of them: valid for every expression (Validate accepts it) whose sizes the device can
// count and, if it has prefix sums, hold; takes a millisecond or less.
TuningParameters DefaultParameters(const Expression& expression, const SystemModel& model,
                                   const DeviceDescription& device,
                                   NumericsPolicy numerics = NumericsPolicy::kReassociate,
                                   absl::Span<const int64_t> runs = {});

}  // namespace mdh

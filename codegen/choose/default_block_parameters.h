// A configuration from rules for devices with blocks of threads: what a caller gets before tuning,
// and where the search starts.
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Expects a model with explicit memory (CUDA with or without warps, OpenCL). Threads along the two
// dimensions of the result that memory is most contiguous in, small tiles of results in registers,
// copies in shared memory of inputs that are read again, threads and blocks along reductions where
// the result alone has too few points, prefix sums in registers. Valid for every expression
// (Validate accepts it); takes microseconds, or a few milliseconds where the cost model of designs
// has a say (codegen/choose/block_candidates.h) and there are many dimensions.
TuningParameters DefaultBlockParameters(const Expression& expression, const SystemModel& model,
                                        const DeviceDescription& device,
                                        NumericsPolicy numerics = NumericsPolicy::kReassociate);

// The same parameters with other blocks for prefix sums in registers, the likeliest first; none
// where there are no such prefix sums.
std::vector<TuningParameters> ScanVariants(const Expression& expression, const SystemModel& model,
                                           const DeviceDescription& device,
                                           const TuningParameters& parameters);

}  // namespace mdh

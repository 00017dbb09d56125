// Configurations for devices with blocks of threads that the cost model holds to be good: the first
// one is what a caller gets before tuning, the others are what tuning tries first.
#pragma once

#include <limits>
#include <vector>

#include "codegen/choose/block_cost.h"
#include "codegen/choose/block_design.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

struct BlockCandidate {
  BlockDesign design;
  BlockCost cost;
  TuningParameters parameters;  // valid
};

struct BlockCandidateOptions {
  int count = 1;          // most candidates
  int evaluations = 700;  // of the cost model, per climb: half a microsecond each
  // Of all climbs together: the first ones are from where results are contiguous.
  int evaluations_in_all = std::numeric_limits<int>::max();
  bool shares_reductions = true;  // whether several blocks may have parts of one
};

// Climbs from designs with threads along each dimension that is contiguous in some buffer, and
// along the longest reduction where results are few, one change at a time; the best of the usual
// tiles of products (codegen/choose/product_tiles.h) compete with what they find. Candidates are
// ordered by cost; of those that differ little only the best few are there. Of stencils one comes
// first whose threads have points of neighbouring rows and planes. Empty where the model has
// nothing to say: prefix sums, a system model with warps, devices that are no GPUs, or if no design
// is valid.
std::vector<BlockCandidate> BlockCandidates(const Expression& expression, const SystemModel& model,
                                            const DeviceDescription& device,
                                            const BlockCandidateOptions& options);

}  // namespace mdh

// How a pipeline is computed before anything of it was measured: what is fused, which steps run
// together, and their parameters, by counting.
#pragma once

#include <cstddef>

#include "absl/types/span.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/numerics.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/schedule/pipeline_parameters.h"

namespace mdh {

// What a partition's steps cost on the device, as PlanPartitions counts it but for what concerns
// these groups of its steps: what steps of a group pass to each other, or read together, stays on
// chip or in caches, once it is there. What sums of products read again for every part, as it does
// not move with the parts, comes from caches. Where a group has fewer parts than there are
// multiprocessors or cores, the others wait.
double CostWithGroups(const Pipeline& pipeline, absl::Span<const JointGroup> groups,
                      const DeviceDescription& device);

struct PipelineDefaults {
  size_t partition = 0;  // number among the given ones
  PipelineParameters parameters;
};

// Of these partitions the cheapest by CostWithGroups, with its DefaultJointGroups or with none;
// groups that do not pay by experience are none: those of blocks with halos, which get from shared
// memory what they would get from caches. Expects one partition at least.
PipelineDefaults DefaultPipelineParameters(absl::Span<const Partition> partitions,
                                           const SystemModel& model,
                                           const DeviceDescription& device,
                                           NumericsPolicy numerics = NumericsPolicy::kReassociate);

}  // namespace mdh

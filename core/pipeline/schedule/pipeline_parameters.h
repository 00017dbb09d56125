// How a pipeline is computed: what is fused, which steps run together, and each step's parameters.
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/plan.h"

namespace mdh {

struct PipelineParameters {
  std::vector<PlannedEdge> edges;  // of the pipeline that is planned, as in Partition
  std::vector<JointGroup> groups;  // of the steps of the partition's pipeline; ascending, disjoint
  // Of every step of the partition's pipeline; of a step in a group those of its part, of which
  // rows (JointGroup::rows) only take the numerics policy.
  std::vector<TuningParameters> steps;

  friend bool operator==(const PipelineParameters&, const PipelineParameters&) = default;
};

}  // namespace mdh

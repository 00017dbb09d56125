// The neighbourhood of joint groups: what a search tries from the best one on.
#pragma once

#include <vector>

#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/numerics.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/schedule/pipeline_parameters.h"

namespace mdh {

// Parameters of the partition that one change of `from` leads to, all different: the part of a
// group along one dimension, its chunk or its splits to the next divisor up or down; threads of a
// row, rows of a block, neighbours of a thread or where a row is kept; columns of planes, or how
// many blocks are resident; twice or half as many
// threads of a block, other threads of a row of aligned steps; another design of one step on its
// part, on CPUs another register tile. Where a change is about the whole group, its steps have then
// what rules say (ParametersOfSteps); all other steps stay as they are. There may be no code for
// some of them. Empty: `from` has no groups. Expects parameters for which there is code.
std::vector<PipelineParameters> JointMoves(const Partition& partition,
                                           const PipelineParameters& from, const SystemModel& model,
                                           const DeviceDescription& device,
                                           NumericsPolicy numerics = NumericsPolicy::kReassociate);

}  // namespace mdh

// Random pipelines whose steps have a dimension in common, and random groups of them.
#pragma once

#include <vector>

#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "tests/random_expression.h"

namespace mdh {

// The pipeline `points` times: every step has one more dimension of that size, at a random place,
// by which what steps write is indexed plainly in front. Of inputs, some have it so, too, some at
// an affine index, and some are the same for all. Some steps also use its index. The pipeline
// itself if that cannot be.
Pipeline WithCommonDimension(Rng& rng, const Pipeline& pipeline, int64_t points);

// Disjoint groups of steps, ascending, with parts of any size, in chunks and splits of any size
// where they can stream; perhaps none.
std::vector<JointGroup> RandomJointGroups(Rng& rng, const Pipeline& pipeline);

}  // namespace mdh

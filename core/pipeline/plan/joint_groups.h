// Which steps of a pipeline can run together, part after part, and by which dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// Whether these steps of the pipeline can run together on such parts:
//   - there are two steps or more, with the same number of common dimensions, at least one; their
//     operators are ++, and their extents are not 0, and those of the last step where a step does
//     not only write what steps of the group read;
//   - what one step of the group writes and another one reads is indexed by each common dimension
//     alone, at one place of the buffer for all steps, and by readers of what only steps of the
//     group read perhaps with a constant added, as in stencils. Then a part has a halo: what it
//     needs beyond its own points it computes itself (core/pipeline/plan/joint_halo.h); so no part
//     needs what another part computes;
//   - the elements that a step accesses in a buffer from outside move all alike from part to part,
//     and an index that moves never leaves a buffer that has a boundary;
//   - the points of a part divide the extents.
// Errors: FailedPrecondition, saying what is wrong.
Status CheckJointGroup(const Pipeline& pipeline, const JointGroup& group);

// All runs of steps that can be a group, each with all dimensions that they have in common and
// parts of one point; without those that a longer run with as many common dimensions contains. In
// the order of their first steps, longer ones first.
std::vector<JointGroup> JointGroups(const Pipeline& pipeline);

// These steps with all dimensions that they have in common, and parts of one point; nullopt: they
// have none.
std::optional<JointGroup> WidestJointGroup(const Pipeline& pipeline, int first, int last);

// The group with parts of so many points at most, as many as divide the extents: the last common
// dimensions first, so that what a part has of a buffer lies together. At least one point.
JointGroup WithPart(const Pipeline& pipeline, JointGroup group, int64_t points);

// The extents of the common dimensions in the last step, and the number of parts.
std::vector<int64_t> CommonExtents(const Pipeline& pipeline, const JointGroup& group);
int64_t PartsOf(const Pipeline& pipeline, const JointGroup& group);

}  // namespace mdh

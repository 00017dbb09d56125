// Parts and layouts of chains of stencils that are computed plane after plane.
#pragma once

#include <vector>

#include "core/device/device_description.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// The group with parts and layouts of planes that are worth a trial, the likeliest first, all
// different and within the limits of BuildPlaneStage (codegen/backends/planes/plane_stage.h). What
// counts is how many points a multiprocessor computes, those of halos included, and whether its
// threads are enough to hide how long they wait for each other. Empty: there are no such parts
// (PlaneShapeOf), or threads are those of a CPU.
std::vector<JointGroup> PlaneGroups(const Pipeline& pipeline, const JointGroup& group,
                                    const DeviceDescription& device);

// The group with longer or shorter columns, or one block more or less; perhaps beyond the limits.
std::vector<JointGroup> WithOtherPlanes(const JointGroup& group);

}  // namespace mdh

// The loop program of a joint group that is computed plane after plane: one nest for all steps.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// Expects a group with `planes`, and a device with blocks of threads; `buffers`: the program's
// names for those of the pipeline, `shared`: all names that several stages see. A block computes a
// part and its halo, a thread a column of neighbouring places of each plane:
//
//   for turn = 0 .. planes of the part and its halo:       as many at once as planes are kept
//     inputs that are kept: the thread's elements of the next plane, loaded a turn ago
//     every step: the thread's points of the plane that is `lag` turns old, from elements in its
//       registers or, of other threads, in shared memory; kept if others read it, stored if it is a
//       result and a point of the part
//     a barrier
//
// The thread keeps its elements of the last planes in registers, as rings; what lies beside is in
// rings in shared memory. What does not exist beyond windows is computed from whatever is there,
// and nobody uses it, unless a step reads memory at its point or divides integers: such steps
// compute points of their windows only. Errors: FailedPrecondition of PlaneShapeOf;
// InvalidArgument, naming the constraint.
Result<Stage> BuildPlaneStage(const Pipeline& pipeline, const JointGroup& group,
                              const std::vector<std::string>& buffers,
                              const DeviceDescription& device, const std::set<std::string>& shared);

}  // namespace mdh

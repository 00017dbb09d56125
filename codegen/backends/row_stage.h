// The loop program of a joint group whose parts are rows: one nest for all steps, in which a group
// of threads keeps its row from the first step that reads it to the last one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/backends/joint_stage.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// Expects a group with `rows`, and a device with blocks of threads; `buffers`: the program's names
// for those of the pipeline, `shared`: all names that several stages see. One pass over the row per
// reduction and one per result, all on elements that the thread has loaded itself:
//
//   for every step that reduces, or whose results somebody outside of the group reads:
//     for chunk = 0 .. length / (threads * vector):          unrolled where rows are in registers
//       what it reads of the row: kept before; or loaded, or computed by the steps that write it,
//         and kept if other steps read it, too
//       elements of the results; or accumulator (+)= element
//     accumulators of the row's threads combined: by shuffles within warps, then through shared
//       memory with one barrier; every thread has the result
//
// Elements move as vectors where rows begin at multiples of them. A block that has less rows than
// others computes the last one again. Errors: FailedPrecondition of RowShapeOf; InvalidArgument,
// naming the constraint.
Result<JointStage> BuildRowStage(const Pipeline& pipeline, const JointGroup& group,
                                 const std::vector<std::string>& buffers,
                                 const DeviceDescription& device,
                                 const std::set<std::string>& shared);

}  // namespace mdh

// Layouts of rows that are worth a trial: threads of a row, rows of a block, vectors, and where the
// row is kept.
#pragma once

#include <vector>

#include "core/device/device_description.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// The likeliest first, all different and within the limits of BuildRowStage
// (codegen/backends/row_stage.h). A thread has few vectors of 16 bytes, a block a few warps; rows
// are kept in registers as long as these suffice, longer ones in shared memory, or read again from
// caches. Empty: parts of the group are no rows (RowShapeOf), or the device has no blocks.
std::vector<RowLayout> RowLayouts(const Pipeline& pipeline, const JointGroup& group,
                                  const DeviceDescription& device);

}  // namespace mdh

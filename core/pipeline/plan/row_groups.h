// Joint groups whose parts are rows: soft-max, norms, statistics, along one dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

struct RowShape {
  int64_t length = 0;           // points of a row
  std::vector<int> dimensions;  // per step of the group: the row's dimension; -1: it has none
  std::vector<bool> is_vector;  // per buffer of the pipeline: within the group, an element a point
};

// Whether the parts of a valid group are rows, and which:
//   - a part is one point of the common dimensions, and needs no others; beside these every step
//   has one dimension at
//     most, of the same number of points, at least 2, for all that have it, and some has it;
//   - it is kept, or reduced by an operator that has an identity and keeps no order;
//   - buffers have scalar elements and no boundaries;
//   - what one step writes and another one reads has an index for each common dimension, and, if
//     the writer keeps the row's dimension, one that is this dimension alone, at one place and over
//     all of its extent.
// Errors: FailedPrecondition, saying what is wrong.
Result<RowShape> RowShapeOf(const Pipeline& pipeline, const JointGroup& group);

}  // namespace mdh

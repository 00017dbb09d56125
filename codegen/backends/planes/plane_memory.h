// The threads of a block that computes planes, and what they show each other in shared memory.
#pragma once

#include <cstdint>

#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/plane_groups.h"

namespace mdh {

// Places of a plane along the last but one dimension: 1 where it has but one.
int64_t RowsOf(const PlaneShape& shape);

// Threads of the block.
int64_t ThreadsOf(const PlaneShape& shape, const PlaneLayout& layout);

// Elements from one line of a plane in shared memory to the next: so many that a warp whose threads
// are of two columns beside each other finds what both have in different banks, where some are.
int64_t PitchOf(const PlaneShape& shape, const PlaneLayout& layout);

// A plane in shared memory: its places, whole columns, and those around all planes that threads at
// their edges read where nothing is.
struct SharedPlane {
  int64_t pitch = 0, places = 0, before = 0, behind = 0;
};
SharedPlane SharedPlaneOf(const Pipeline& pipeline, const JointGroup& group,
                          const PlaneShape& shape, const PlaneLayout& layout,
                          const PlaneShape::Kept& kept);

// Of all planes that are kept of one buffer; and bytes of all that threads share.
int64_t ElementsOf(const SharedPlane& plane, const PlaneShape& shape);
int64_t SharedBytesOf(const Pipeline& pipeline, const JointGroup& group, const PlaneShape& shape,
                      const PlaneLayout& layout);

}  // namespace mdh

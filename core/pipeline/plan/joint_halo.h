// Which points steps of a joint group compute for a part: those of the part, or more on its sides,
// where others read them at an offset, as stencils do.
#pragma once

#include <cstdint>
#include <vector>

#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// Along a common dimension: `points` from the part's first one plus `first` on.
struct StepWindow {
  int64_t first = 0, points = 0;

  friend bool operator==(const StepWindow&, const StepWindow&) = default;
};

// Per step of the group and common dimension. What somebody outside of the group reads is computed
// once, on the part; what only steps of the group read, wherever they read it for their own
// windows. Expects that CommonPlace (core/pipeline/plan/joint_uses.h) is known for all that is
// written within the group.
std::vector<std::vector<StepWindow>> WindowsOf(const Pipeline& pipeline, const JointGroup& group);

// Whether some window is not the part.
bool HasHalo(const Pipeline& pipeline, const JointGroup& group);

// Points that all steps compute, along the last common dimension so many at a time, divided by
// those that they compute without halos; and bytes that a part has of what only steps of the group
// read.
double WorkRepeated(const Pipeline& pipeline, const JointGroup& group, int64_t lanes = 1);
double BytesOfPart(const Pipeline& pipeline, const JointGroup& group);

// The group with the parts that repeat the least work of those whose memory is at most so many
// bytes, and of which there are so many at least; of equal ones that with the longest rows. As
// WithPart for one point if there is none.
struct HaloLimits {
  double most_bytes = 0;
  int64_t least_parts = 1;
  int64_t lanes = 1;
};
JointGroup WithLeastHalo(const Pipeline& pipeline, JointGroup group, const HaloLimits& limits);

}  // namespace mdh

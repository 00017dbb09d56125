// A joint group with a streamed dimension, as steps that run per chunk and steps that run behind
// all chunks.
#pragma once

#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/stream_bounds.h"
#include "core/scalar/scalar_value.h"

namespace mdh {

// The first steps of the group are its body, which runs on one chunk after the other. What a step
// of it reduces along the streamed dimension it combines with what the chunks before have left
// (`before`) and leaves for those behind (`after`); where it is scaled by a maximum that the chunk
// has raised, times the factor of ScaledSums. The other steps run behind the last chunk. They make
// of `after` what the given steps would have written: store functions, and the factor of the
// maximum and itself, which is 1 or, as in the given steps, nan.
//
// A neutral maximum, where the chunks so far have neutral elements only, stands for 0 in factors,
// so that they are 0.
struct StreamedSteps {
  Pipeline pipeline;  // with these instead of the steps of the group; all of its other steps
  JointGroup group;   // the body, and what runs behind it for the same part
  int body = 0;       // steps
  // Per step of the group the numbers of its common dimensions, then that of the streamed one, then
  // that of the splits where there are several; -1: it has none.
  std::vector<std::vector<int>> columns;
  // Of several splits: the steps that combine them, a group of its own if they are several.
  std::optional<JointGroup> combination = {};
  struct Carried {
    int before, after;  // buffers of the pipeline; `before` has the role of an input
    ScalarValue neutral;
  };
  std::vector<Carried> carried;
  std::vector<StreamBound> bounds = {};  // of the streamed points that a part needs
  // Per step of the pipeline: which step of the given one it is, and whose parameters it has; -1:
  // none, as of those behind the body.
  std::vector<int> given;
};

// Expects what CheckJointGroup expects, and checks all of it that concerns streaming:
//   - each step either has the streamed dimension, or runs behind the chunks;
//   - what steps with it write is indexed by it plainly, at one place, or is reduced along it by an
//     operator with a name; nobody else reads temporaries that are as small as a chunk;
//   - what is reduced along it is a scalar for every point that is kept, and no step of the body
//     reads it, but a maximum as ScaledSumsOf says, which has no other dimensions than the common
//     ones;
//   - the points of a chunk divide those of a split, and splits divide the dimension.
// Errors: FailedPrecondition, saying what is wrong.
Result<StreamedSteps> StreamedStepsOf(const Pipeline& pipeline, const JointGroup& group);

// The group as it can stream along a dimension that several of its steps have and some reduce, all
// of it in one chunk. One per such dimension, those of the most steps first.
std::vector<JointGroup> StreamedGroups(const Pipeline& pipeline, const JointGroup& group);

// Points of the streamed dimension. Expects a group of which StreamedStepsOf knows it.
int64_t StreamedExtent(const Pipeline& pipeline, const JointGroup& group);

}  // namespace mdh

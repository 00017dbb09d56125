// How the steps of a joint group use buffers.
#pragma once

#include <vector>

#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// A view by which a step accesses a buffer of the pipeline: an input of f, one of the store
// function, or an output. What both functions read as one input has two.
struct StepView {
  int step;    // of the pipeline
  int buffer;  // of the pipeline
  const Buffer* view;
  bool writes;
  int position;  // among the passed inputs of the step, or among its outputs
};
// All views of the steps first .. last.
std::vector<StepView> ViewsOf(const Pipeline& pipeline, int first, int last);

// The dimension that the view's index at this place is, alone, in all accesses; nothing else of the
// view uses it. -1: there is none.
int PlainDimensionAt(const Buffer& view, int place);

// The same, but that accesses may add constants to the dimension.
int ShiftedDimensionAt(const Buffer& view, int place);

// The place of a buffer that a step of the group writes and another one reads where this common
// dimension (its number in the group) is for all of them: alone for the writer, shifted by
// constants for readers; -1: there is none. Expects valid dimensions.
int CommonPlace(const std::vector<StepView>& views, const JointGroup& group, int buffer, size_t k);

// Whether some step of the group writes the buffer and another one reads it.
bool IsWithin(const std::vector<StepView>& views, int buffer);

// Whether the buffer need not exist but for parts: a temporary that no step outside of the group
// uses.
bool IsOfPart(const Pipeline& pipeline, const JointGroup& group, int buffer);

// Elements by which an access moves when the index of a dimension grows by 1.
int64_t MoveAlong(const Buffer& view, int access, int dimension);

}  // namespace mdh

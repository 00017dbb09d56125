// What is computed of a pipeline whose steps run together in groups.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/joint_part.h"
#include "core/pipeline/plan/streamed_steps.h"

namespace mdh {

// A group of a pipeline, and what it computes on a part.
struct JointSteps {
  JointGroup group;
  JointPart part;
  // Of a streamed group: the first steps, which run per chunk, and what they carry; else 0.
  int body = 0;
  std::vector<StreamedSteps::Carried> carried = {};
  std::vector<StreamBound> bounds = {};
};

// The pipeline with the steps of StreamedStepsOf in the place of streamed groups.
struct ComputedPipeline {
  Pipeline pipeline;
  std::vector<JointSteps> groups;  // of its steps, ascending
  std::vector<int> given;          // per step: which one of the given pipeline it is; -1: none
};

// Errors: InvalidArgument if the groups are not ascending, or have steps in common; those of
// CheckJointGroup.
Result<ComputedPipeline> ComputedPipelineOf(const Pipeline& pipeline,
                                            absl::Span<const JointGroup> groups);

// The expressions that parameters are for: of every step of the given pipeline; of those in a group
// that of its part, or of its chunk. Errors: those of ComputedPipelineOf.
Result<std::vector<Expression>> ComputedExpressions(const Pipeline& pipeline,
                                                    absl::Span<const JointGroup> groups);

}  // namespace mdh

// What streamed groups are asked: which step has the streamed dimension, and what it does with it.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// Refers to its arguments. Steps are numbers of the pipeline's.
class StreamedGroup {
 public:
  StreamedGroup(const Pipeline& pipeline, const JointGroup& group)
      : pipeline_(pipeline), group_(group) {}

  const Expression& ExpressionOf(int s) const { return pipeline_.steps()[s].expression; }
  int Streamed(int s) const { return group_.streamed[s - group_.first]; }
  const std::vector<int>& Common(int s) const { return group_.dimensions[s - group_.first]; }
  bool IsCarried(int s) const {
    return Streamed(s) >= 0 && ExpressionOf(s).is_reduction(Streamed(s));
  }
  bool IsInGroup(int s) const { return s >= group_.first && s <= group_.last; }
  std::string StepText(int s) const {
    return absl::StrCat("step ", s + 1, " (", ExpressionOf(s).name(), ")");
  }
  // The dimensions that results of the step have.
  std::vector<int> Kept(int s) const {
    std::vector<int> kept;
    for (int d = 0; d < ExpressionOf(s).rank(); ++d) {
      if (!ExpressionOf(s).is_reduction(d)) kept.push_back(d);
    }
    return kept;
  }

  // Whether somebody but f of the chunks' steps reads what the step reduces along the streamed
  // dimension.
  bool IsReadBehindChunks(int s) const;

 protected:
  const Pipeline& pipeline_;
  const JointGroup& group_;
};

// Drops buffers that no step uses. Per buffer its new number; -1: it is dropped.
std::vector<int> DropUnusedBuffers(PipelineSpec* spec);

// What StreamedStepsOf checks, but for the algebra of ScaledSumsOf. Errors: FailedPrecondition.
Status CheckStreamed(const Pipeline& pipeline, const JointGroup& group);

}  // namespace mdh

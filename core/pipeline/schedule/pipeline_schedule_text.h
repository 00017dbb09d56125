// Decisions about pipelines as the text of a schedule.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/schedule/pipeline_decision.h"
#include "core/schedule/schedule.h"

namespace mdh {

// What a schedule says, with a partition that its lines can be said of.
struct ScheduleParts {
  absl::Span<const PipelineDecision> decisions;
  const Pipeline& partition;
  const std::vector<Schedule>& steps;  // of the partition
  bool is_key;                         // whether the decisions have numbers of dimensions
};

// All of it, in an order that does not depend on that of the lines; in keys without names.
std::string PipelineScheduleText(const ScheduleParts& parts, const StepNames& names, bool is_key);
// One line, as it was said.
std::string DecisionText(const PipelineDecision& decision, const StepNames& names);

// What a partition with groups is, said completely.
std::vector<PipelineDecision> AsPipelineDecisions(const Partition& partition,
                                                  absl::Span<const JointGroup> groups,
                                                  const StepNames& names);

}  // namespace mdh

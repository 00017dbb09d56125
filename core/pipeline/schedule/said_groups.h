// What schedules say of steps that run together, and groups.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/status.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/schedule/pipeline_decision.h"

namespace mdh {

// The number of a dimension by its name; in keys, which know no names, "d1" is the first. -1: there
// is none.
int DimensionNamed(const Expression& expression, const std::string& name, bool is_key);
std::string DimensionText(const Expression& expression, int dimension, bool is_key);

// Whether what is said allows the group of steps of that pipeline, a partition's. Errors:
// InvalidArgument, with what is otherwise.
Status AllowsGroup(const SaidGroup& said, const JointGroup& group, const Pipeline& pipeline,
                   bool is_key);

// The groups of steps `first` to `last` that are said: one for each of the values that are named,
// at most `most`; where nothing is said of parts or rows, as `usual`, of a group with common
// dimensions, has them. Errors: FailedPrecondition if there is none, with the reason.
using UsualGroup = absl::FunctionRef<JointGroup(const JointGroup&)>;
Result<std::vector<JointGroup>> GroupsWith(const SaidGroup& said, int first, int last,
                                           const Pipeline& pipeline, bool is_key, UsualGroup usual,
                                           size_t most);

// Whether exactly one group is allowed, but for what has no effect.
bool IsWhole(const SaidGroup& said, const JointGroup& group);

// All that is said of that group, and its text behind "together(..): ".
SaidGroup SaidOf(const JointGroup& group, const Pipeline& pipeline);
// `from_key`, `to_key`: how it calls dimensions, and shall; `pipeline`: of a partition in which the
// steps are these.
std::string GroupClauses(const SaidGroup& said, const Pipeline& pipeline, int first, int last,
                         bool from_key, bool to_key);

}  // namespace mdh

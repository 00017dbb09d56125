// What a joint group computes on one of its parts.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// Where an input or output of a step of the part is.
struct PartBuffer {
  enum class Kind : uint8_t {
    kWhole,    // in a buffer of the pipeline, `moves` elements further per point of each common
               // dimension before the part
    kPart,     // in memory of the part: a temporary that no step outside of the group uses
    kOrigins,  // there are the first point's indices in the common dimensions, as int64
  };
  Kind kind = Kind::kWhole;
  int buffer = -1;                  // of the pipeline; kWhole and kPart
  std::vector<int64_t> moves = {};  // kWhole

  friend bool operator==(const PartBuffer&, const PartBuffer&) = default;
};

// The steps of a group on the first of its parts. On others they compute the same with what moves
// moved, and with other origins; these are an input where a step uses the index of a common
// dimension that has several parts.
struct JointPart {
  struct Step {
    Expression expression;
    std::vector<PartBuffer> inputs;   // per passed input
    std::vector<PartBuffer> outputs;  // elements that are not reached keep what is there, but in
                                      // memory of the part
  };
  std::vector<Step> steps;
  bool has_origins = false;
};

// Errors: those of CheckJointGroup.
Result<JointPart> PartOf(const Pipeline& pipeline, const JointGroup& group);

// The expressions that parameters are for: of every step; of those in a group that of its part.
// Expects groups that are ascending and have no step in common. Errors: those of PartOf.
Result<std::vector<Expression>> ComputedExpressions(const Pipeline& pipeline,
                                                    absl::Span<const JointGroup> groups);

}  // namespace mdh

// What a joint group computes on one of its parts.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/streamed_steps.h"

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

// Parts in turn, the last dimension fastest, that find the same at a place: so many, from a
// multiple of them on. `counts`: parts per dimension of its moves; 1 of a streamed one.
int64_t PartsAlike(const PartBuffer& place, absl::Span<const int64_t> counts);

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

// Expects a group without a streamed dimension. Errors: those of CheckJointGroup.
Result<JointPart> PartOf(const Pipeline& pipeline, const JointGroup& group);

// Of a group with one: of its body on the first chunk, and of what is behind it. What the body
// carries is in memory of the part; moves and origins count the streamed dimension, then the
// splits, if there are several, behind the common ones.
Result<JointPart> PartOf(const StreamedSteps& streamed);

}  // namespace mdh

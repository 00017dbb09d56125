// F3: two independent steps over the same points become one md_hom with more outputs.
#pragma once

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// The pipeline in which steps `first` and `second` are one, whose f computes the results of both
// and whose combine operators combine both side by side. Buffers that both read are read once.
//
// Legal iff
//   - none of them needs what the other writes, directly or through other steps;
//   - both have the same sizes in the same order, and combine the same dimensions in the same way:
//     concatenation, reduction or prefix sum. The functions that combine may differ: those of
//     different results do not see each other.
// Nothing is computed in another order: no numerics policy is needed.
// Errors: FailedPrecondition with the obstacle.
Result<Pipeline> MergeSiblings(const Pipeline& pipeline, int first, int second);

}  // namespace mdh

// F4, the reverse: two sums of products become one over the points of both.
#pragma once

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// The pipeline in which step `consumer`, a sum of products, computes within its sum what it reads
// of step `producer`, another one, whose temporary is gone.
//
// Legal iff
//   - both are sums of products as SplitContraction has them (the consumer may reduce nothing), in
//     one type, in which the temporary is stored, too;
//   - what the consumer reads, once and as a factor by itself, is the producer's only output, which
//     nothing else reads and the pipeline does not give;
//   - w of the producer can be inverted on what the consumer reads (InlineProducer).
// Numerics as those of SplitContraction. Errors: FailedPrecondition with the obstacle.
Result<Pipeline> MergeContractions(const Pipeline& pipeline, int producer, int consumer);

}  // namespace mdh

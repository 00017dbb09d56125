// F1: a step without reductions is computed where its results are read.
#pragma once

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// The pipeline in which step `consumer` computes for itself what it reads of what step `producer`
// writes. With T[w(p)] = f(a[r(p)]) and g(..., T[q(c)], ...) this is g(..., f(a[r(w^-1(q(c)))]),
// ...), f rounded to the type of T as it is stored. What nobody reads any more is not written any
// more, and a producer that writes nothing is gone.
//
// Legal iff
//   - the producer neither reduces nor scans anything: else a result depends on many points;
//   - w can be inverted on what the consumer reads: every index of an access is a dimension plus or
//     minus a constant, or a constant, and no dimension stands in two of them; what the consumer
//     reads is written by one access, always the same one (elements that nothing reaches are zero);
//   - the consumer reads T inside its extents, or a constant outside of them, which then is chosen
//   by
//     the indices of the consumer: a border that repeats (clamp) is not affine.
// The function is the composed one exactly, in whatever type: no numerics policy is needed. The
// producer's work is done once for each read.
// Errors: FailedPrecondition with the obstacle.
Result<Pipeline> InlineProducer(const Pipeline& pipeline, int producer, int consumer);

}  // namespace mdh

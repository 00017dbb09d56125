// F2: an element-wise reader of results becomes part of the store function of the step that makes
// them (an epilogue).
#pragma once

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// The pipeline in which step `producer` does, once a result is final, what step `consumer` would do
// with it, and writes what that writes. The store function of the producer, if it has one, comes
// first; its results are rounded to the types of the buffers that held them. What nobody else reads
// of these is not written any more.
//
// Legal iff
//   - the consumer neither reduces nor scans anything;
//   - the points of the consumer are the results of the producer, one to one: with T[w(p)] written
//   and
//     T[q(c)] read there is one c for every p with w(p) = q(c), affine in p, and the reverse, the
//     same for all that the consumer reads of the producer. So it reads all results, each once;
//   - the consumer reads nothing else that needs what the producer writes.
// Nothing is computed in another order: no numerics policy is needed. Nothing is computed twice.
// Errors: FailedPrecondition with the obstacle.
Result<Pipeline> AbsorbReader(const Pipeline& pipeline, int producer, int consumer);

}  // namespace mdh

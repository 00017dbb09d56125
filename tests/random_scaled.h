// Random pipelines with sums that are scaled by a running maximum, as attention has.
#pragma once

#include "core/pipeline/pipeline.h"
#include "tests/random_expression.h"

namespace mdh {

// Scores of queries and keys, or given ones, perhaps masked by comparing indices; their maximum
// along the keys, or their minimum; powers of two of the differences, and sums of these and of
// their products with values; and what is made of sums behind them. Some of it is inlined, some
// are outputs. Sizes are small, odd ones and primes among them. All results are exact in fp32: of
// inputs as RandomInputs gives them. `may_mask`: else there are no masks, so that all values are
// read, nan and infinities, too. `points`: of the scores, about, of 64 values each; 0: few.
Pipeline RandomScaledPipeline(Rng& rng, bool may_mask = true, int64_t points = 0);

}  // namespace mdh

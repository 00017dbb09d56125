// Random chains of stencils.
#pragma once

#include "core/pipeline/pipeline.h"
#include "tests/random_expression.h"

namespace mdh {

// Two to four steps of one to three dimensions, each of which reads what the one before has written
// at a few constant offsets, sometimes that of a step before that, too, and inputs; some use their
// indices. Extents are of any kind, prime ones too. Values are clamped where they are read, so that
// sums are exact. `points`: of the last step, about; 0: few.
Pipeline RandomStencilChain(Rng& rng, int64_t points = 0);

}  // namespace mdh

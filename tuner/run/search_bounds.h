// What bounds on times mean for a tuning run.
#pragma once

#include <cstdint>

#include "core/expression/expression.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/run/tuning_loop.h"
#include "tuner/search/search.h"

namespace mdh {

// Whether no kernel at all can be faster than the best, of `best_ns`, by more than the gap of the
// options. Never without one.
bool IsWithinGap(const Expression& expression, const TuningOptions& options, int64_t best_ns);

// What cost models expect; bound, gap, and what was reached before the search (0: nothing). No
// bound if that is less than any kernel can take.
void SetBounds(const MdhSpace& space, const Expression& expression, const TuningOptions& options,
               int64_t best_ns, SearchOptions& search);

// What the search has proven; also that its bound was wrong from the start.
CutFigures CutOf(const Search& search, const TuningOptions& options);
// Whether anything better was looked for, and not only what is better by more than the gap.
bool HasSoughtAll(const TuningOptions& options, const CutFigures& cut);

}  // namespace mdh

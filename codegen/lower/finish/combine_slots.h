// Split reductions (split-k): the stage after the computation on targets with blocks of threads
// when parts of reductions have left their results in device memory: every result's partial
// results, its slots, are combined by several threads of a block.
#pragma once

#include "codegen/lower/finish/finish_results.h"
#include "codegen/program/loop_program.h"
#include "core/expression/expression.h"

namespace mdh {

// How threads share the work: `items` results per block, each by `shares` threads, each of which
// combines `slots` slots that follow each other.
struct SlotShares {
  int64_t items, shares, slots;
};

// Few results with many slots get many threads each; the last share is never empty.
// Blocks have so many threads at most.
SlotShares ShareSlots(int64_t results, int64_t slots, int64_t most_threads = 1024);

// Expects results.slots > 1. The stage combines neighbouring slots in a tree, from the left to the
// right, and stores what comes out: in the outputs, or, if there are prefix sums, in slot 0.
Stage CombineSlotsInBlocks(const Expression& expression, const ResultArrays& results,
                           int64_t most_threads = 1024);

}  // namespace mdh

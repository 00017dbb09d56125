// Construction of levels whose prefixes all differ in what is still needed of them, and whose
// conditions are all opaque: nothing can be shared on the way down, so they are visited as nested
// loops would, and equal nodes become one on the way back.
#pragma once

#include <cstdint>

#include "tuner/space/diagram/diagram.h"
#include "tuner/space/levels/level_plan.h"

namespace mdh {

// The end of the longest such levels from `level` on, before and behind which nothing is known of
// the others; `level` if there are none.
int EndOfTree(const SpacePlan& plan, int level);

enum class TreeOutcome {
  kComplete,
  kUnclear,  // nothing is left, or a condition is undefined: prefixes must be kept to say where
  kTooLarge  // it has more prefixes than fit so many bytes
};

// Appends levels first..end-1, as of EndOfTree, to `graph`. Does so only if the outcome is
// kComplete.
TreeOutcome ConstructTree(const SpacePlan& plan, int first, int end, int64_t max_bytes,
                          LevelGraph& graph);

}  // namespace mdh

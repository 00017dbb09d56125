// Loop collapsing: which dimensions a configuration from rules runs through as one
// (core/decomposition/fuse_dimensions.h).
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

// The expression with dimensions fused, and which.
struct FusionChoice {
  FusedDimensions fused;
  Expression expression;
};

// All that are worth a trial, the first of them none. Of devices with caches:
//   - what is one range of memory wherever it is used, and shared with nothing else: a longer range
//     has lanes where rows are short, and fewer remainders;
//   - and besides what windows share with each other, as the rows of a filter do: then the range
//     may pay, or the window.
// Devices with blocks of threads copy ranges of several dimensions as one already: none.
std::vector<FusionChoice> FusionChoices(const Expression& expression, const SystemModel& model,
                                        NumericsPolicy numerics);

}  // namespace mdh

// The stage before the computation where blocks add their results to the outputs atomically: it
// sets to zero what they add to.
#pragma once

#include <vector>

#include "codegen/loop_program.h"
#include "codegen/result_targets.h"
#include "core/expression.h"

namespace mdh {

// Expects results that are all added up. Threads share the results: every element that one of
// `targets` (one per result) has for a point becomes zero, and no other. Neighbouring threads write
// neighbouring elements as far as the first target has them.
Block ZeroResults(const Expression& expression, const std::vector<ResultTarget>& targets);

}  // namespace mdh

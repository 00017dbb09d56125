// The stage before the computation where blocks combine their results with the outputs atomically:
// it sets to zero what they add to, and to other identities what they combine otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/result_targets.h"
#include "core/expression/expression.h"

namespace mdh {

// Expects results that are all added up. Threads share the results: every element that one of
// `targets` (one per result) has for a point becomes zero, and no other. Neighbouring threads write
// neighbouring elements as far as the first target has them.
Block ZeroResults(const Expression& expression, const std::vector<ResultTarget>& targets);

// The same with other values, one per result, of the types of the targets.
Block SetResults(const Expression& expression, const std::vector<ResultTarget>& targets,
                 const std::vector<ScalarValue>& values);

// Blocks of threads for a stage that does no more than share so many items; one thread for one.
LaunchGeometry LaunchForItems(int64_t items);

}  // namespace mdh

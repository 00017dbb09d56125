// The stages after the computation when results are kept in arrays of their own: combining partial
// results, prefix sums, and storing into the outputs (paper, re-composition phase; Example 15).
#pragma once

#include "codegen/program/loop_program.h"
#include "codegen/program/result_targets.h"
#include "core/expression/expression.h"

namespace mdh {

// Appends stages (and scratch buffers) to `program`, whose stages up to now compute f reduced in
// all pw dimensions of a slot. Per prefix sum: every part sums itself; the sums of the parts are
// summed; they are combined from the left with the elements of the parts behind.
void AppendFinishingStages(const Expression& expression, const ResultArrays& results,
                           LoopProgram* program);

}  // namespace mdh

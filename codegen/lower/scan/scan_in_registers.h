// Prefix sums on targets with blocks of threads, in registers: reduce, then scan (Example 15's
// parts, one for every tile of a block; ScanParameters).
#pragma once

#include "codegen/lower/finish/finish_results.h"
#include "codegen/lower/levels/nest_context.h"

namespace mdh {

// Whether f is evaluated by the stages of its first prefix sum, so that nothing else computes.
bool ScansEvaluate(const Expression& expression);
// Whether prefix sums, or f's values before them, are in results.arrays in between.
bool ScansUseArrays(const Expression& expression);

// Appends the stages that compute all prefix sums and store into the outputs, and scratch buffers.
// Expects valid ScanParameters with threads, and, where ScansUseArrays and f is reduced,
// results that are combined in results.arrays. Per prefix sum: every tile is summed up; the sums
// are scanned, in the same way; every tile is scanned, with the sum of those before it. Elements
// are combined from the left to the right, but in another order than NumericsPolicy::kExactOrder
// and kFixedTree ask for.
void AppendRegisterScans(NestContext& context, const ScanParameters& scan,
                         const ResultArrays& results, LoopProgram* program);

}  // namespace mdh

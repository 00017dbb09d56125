// Horizontal reduction: lanes along a reduction, combined for many results at once (paper,
// re-composition phase, layer SIMD).
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"
#include "core/expression/combine_operator.h"

namespace mdh {

// How many of so many results, which are neighbours, are combined together each time: powers of two
// and at most `lanes`, the largest first.
std::vector<int> LaneRuns(int64_t results, int64_t lanes);
// Vectors that CombineLanes combines for `results` results.
int64_t LaneCombinations(int64_t results, int64_t lanes);

// Combines all lanes of each result. Every result is a tuple, as `combine` takes it, of vectors of
// as many lanes; as many results as LaneRuns says. Gives a tuple of vectors that have the total of
// results[n] in lane n, scalars for one result. Of each result, lanes of the lower half are left
// operands and those of the upper half right ones, then the same for what is left of it.
//
// Two results take one combination together: the lower halves of both are one operand, the upper
// halves the other, and what is left of each are a half of the lanes; then two of such vectors, and
// so on. So n results of n lanes take n - 1 combinations, of whole vectors.
std::vector<LoopValue> CombineLanes(const CombineOperator& combine,
                                    const std::vector<std::vector<LoopValue>>& results,
                                    NameAllocator& names, Block& block);

}  // namespace mdh

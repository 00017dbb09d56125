// Results from arrays and to arrays, and final ones to the outputs.
#pragma once

#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/result_targets.h"
#include "core/expression/expression.h"

namespace mdh {

// What is in `targets` at a point, one index per dimension, and `width` neighbours; `base` elements
// behind that.
std::vector<LoopValue> LoadResults(const std::vector<ResultTarget>& targets, const Index& base,
                                   const std::vector<Index>& at, int width);

// Appends to the block what stores values in targets at a point.
void StoreResults(const std::vector<ResultTarget>& targets, const std::vector<Index>& at,
                  const std::vector<LoopValue>& values, Block* block);

// The same for final results: the outputs get what the store function makes of them.
void EmitFinalResults(const Expression& expression, const ResultArrays& results,
                      const std::vector<Index>& at, const std::vector<LoopValue>& values,
                      NameAllocator& names, Block* block);

}  // namespace mdh

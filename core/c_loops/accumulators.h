// Local variables that loops combine values in and statements behind these read:
//   float c = 0; for (k ...) c += x[k]; y[i] = sqrtf(c);
#pragma once

#include <string>
#include <vector>

#include "core/c_loops/buffers.h"
#include "core/c_loops/evaluator.h"
#include "core/c_loops/loop_nest.h"
#include "core/c_loops/nest_operators.h"
#include "core/expression/combine_operator.h"

namespace mdh {

struct Accumulator {
  std::string name;
  std::string declaration;
  size_t offset;  // of its declaration
  CType type;
  CValue start;   // before the loops; -1: none
  CValue result;  // stands for its value in the loops, and behind them for what they have combined
};

// Evaluates what stands before inner loops. The variables among it that the innermost body assigns
// hold their `result` afterwards. Errors: InvalidArgument with position, for accumulators that do
// not start directly before the loops that are reduced.
Result<std::vector<Accumulator>> StartAccumulators(const CLoopNest& nest, Evaluator* evaluator,
                                                   BufferMemory* memory,
                                                   IntegerEvaluator* integers);

// The values that the innermost body gives them.
std::vector<NestResult> ResultsOf(const std::vector<Accumulator>& accumulators,
                                  const CLoopNest& nest, Evaluator* evaluator);

// Gives them their values behind the loops: a start other than the neutral element is combined with
// the result. `results`: those of ResultsOf, first. Errors: InvalidArgument with position.
Status FinishAccumulators(const std::vector<Accumulator>& accumulators,
                          const std::vector<NestResult>& results, const CombineOperator& combine,
                          Evaluator* evaluator, ClangUnit* unit);

}  // namespace mdh

// The certain work of whole pipelines, in which steps may be fused, merged and regrouped.
#pragma once

#include <vector>

#include "codegen/bounds/certain_work.h"
#include "core/pipeline/computation.h"

namespace mdh {

// Of a step; of an expression, of all of it.
struct StepWork {
  const Expression* expression;
  CertainWork work;
};

struct ComputationWork {
  std::vector<StepWork> steps;  // their work on units adds up; those without any are left out
  double read_bytes = 0;        // of inputs alone, each once
  double written_bytes = 0;     // of outputs alone
};

// Of a pipeline what is left whatever is fused:
//   - steps of which an element may not be needed do no certain work: all results must be outputs,
//     or certainly be read by steps that are needed;
//   - of steps that read a buffer in common, and so may share operations, only the largest work on
//     vectors counts, of each kind; contractions are shared only where all inputs are the same;
//   - products that lead to sums through temporaries alone, and these sums, count nothing: they may
//     become one contraction, be split in another order (MergeContractions, SplitContraction), and
//     run on matrix units.
ComputationWork WorkOfComputation(ComputationView computation);

}  // namespace mdh

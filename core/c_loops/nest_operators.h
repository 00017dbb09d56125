// The combine operators of a nest: what the annotation says and what the code does must agree.
#pragma once

#include <string>
#include <vector>

#include "core/c_loops/annotation.h"
#include "core/c_loops/clang_unit.h"
#include "core/c_loops/evaluator.h"
#include "core/c_loops/loop_nest.h"
#include "core/expression/combine_operator.h"

namespace mdh {

// A field of an access of an output, or of an accumulator, after the innermost body has run once.
struct NestResult {
  std::string buffer;
  size_t offset;           // where it appears first
  std::vector<bool> uses;  // per loop: whether there is another one for every value of its variable
  ScalarType type;
  int value;   // instruction
  int former;  // instruction that stands for the value before
};

// Where not all points are iterations (Loop::guards).
struct NestGuard {
  int condition = -1;  // instruction of type bool: whether a point is one; -1: all are
  size_t offset = 0;   // of the loop whose bounds depend on others
};

struct NestOperators {
  std::vector<CombineOperator> operators;  // one per loop
  std::vector<int> values;                 // of f: instructions without former values
};

// A point that is no iteration contributes the operator's identity, or zero where nothing is
// combined. Errors: InvalidArgument with position, also for an operator without an identity there.
Result<NestOperators> NestOperatorsOf(const Annotation& annotation, const std::vector<Loop>& loops,
                                      std::vector<NestResult> results, const NestGuard& guard,
                                      Evaluator* evaluator, ClangUnit* unit);

}  // namespace mdh

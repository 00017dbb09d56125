// The combine operators of a nest: what the annotation says and what the code does must agree.
#pragma once

#include <string>
#include <vector>

#include "core/c_loops/annotation.h"
#include "core/c_loops/buffers.h"
#include "core/c_loops/clang_unit.h"
#include "core/c_loops/evaluator.h"
#include "core/combine_operator.h"

namespace mdh {

// A field of an access of an output, after the innermost body has run once.
struct NestResult {
  std::string buffer;
  const CAccess* access;
  ScalarType type;
  int value;   // instruction
  int former;  // instruction that stands for the value before
};

struct NestOperators {
  std::vector<CombineOperator> operators;  // one per loop
  std::vector<int> values;                 // of f: instructions without former values
};

// Errors: InvalidArgument with position.
Result<NestOperators> NestOperatorsOf(const Annotation& annotation, const std::vector<Loop>& loops,
                                      std::vector<NestResult> results, Evaluator* evaluator,
                                      ClangUnit* unit);

}  // namespace mdh

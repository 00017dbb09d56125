// From an annotated loop nest to an expression.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/c_loops/annotation.h"
#include "core/c_loops/clang_unit.h"
#include "core/expression/expression.h"

namespace mdh {

// A variable that is a buffer of a nest.
struct NestBuffer {
  std::string declaration;
  size_t offset;  // of its first appearance
};

struct ConvertedNest {
  Expression expression;
  std::vector<NestBuffer> inputs, outputs;  // in the order in which the expression has them
};

// `name`: of the expression; `loop`: the outermost loop, or a block with it; `bound`: values of
// variables by their declaration. Errors: see ParseCLoops.
Result<ConvertedNest> ConvertNest(const std::string& name, const CNode& loop,
                                  const Annotation& annotation,
                                  const std::map<std::string, int64_t>& bound, ClangUnit* unit);

}  // namespace mdh

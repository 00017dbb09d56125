// From an annotated loop nest to an expression.
#pragma once

#include <map>
#include <string>

#include "core/c_loops/annotation.h"
#include "core/c_loops/clang_unit.h"
#include "core/expression/expression.h"

namespace mdh {

// `loop`: the outermost loop of `function`; `bound`: values of variables by their declaration.
// Errors: see ParseCLoops.
Result<Expression> ConvertNest(const CFunction& function, const CNode& loop,
                               const Annotation& annotation,
                               const std::map<std::string, int64_t>& bound, ClangUnit* unit);

}  // namespace mdh

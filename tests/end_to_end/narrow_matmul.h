// An expression that is cheap to look up and to make kernels of, for tests that need many.
#pragma once

#include <string>

#include "core/text/parser.h"
#include "tests/end_to_end/programs.h"

namespace mdh {

// The product of [size, 8] and [8, 8].
inline Expression NarrowMatMul(int64_t size) {
  return *ParseExpression(ReadFile(ExpressionPath("matmul.mdh")),
                          {{"I", std::to_string(size)}, {"J", "8"}, {"K", "8"}});
}

}  // namespace mdh

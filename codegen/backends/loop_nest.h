// The plain loop nest of an expression, without a low-level expression: for figures and references.
#pragma once

#include "codegen/program/kernel.h"
#include "core/expression/expression.h"

namespace mdh {

// The plain loop nest that a user would write: no tiles, no vectors, one thread. The baseline that
// `untuned` figures refer to.
Kernel GenerateLoopNest(const Expression& expression);
// The trusted kernel that computes references for large sizes: the same results, bit for bit unless
// a long reduction to one result is grouped in another way, sooner, by sharing a loop among threads
// and by walking along the rows of what is read. No tiles either.
Kernel GenerateReferenceNest(const Expression& expression);

}  // namespace mdh

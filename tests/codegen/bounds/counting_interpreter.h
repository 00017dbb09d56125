// Counts what the most careful program still does: it computes every operation once for equal
// elements, and of selections, && and || only what they take. The judge of certain work.
#pragma once

#include <vector>

#include "codegen/bounds/certain_work.h"
#include "core/expression/interpreter.h"

namespace mdh {

// On these inputs, one for each passed input. Sums are combined in the order of the interpreter;
// values that are chosen may be left out of them.
CertainWork CountWork(const Expression& expression, const std::vector<BufferBytes>& inputs);

}  // namespace mdh

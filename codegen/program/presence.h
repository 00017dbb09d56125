// Partial results that may be those of no point at all, of operators that have no neutral element.
#pragma once

#include "core/decomposition/low_level_expression.h"
#include "core/expression/expression.h"

namespace mdh {

// The same computation with an operator that has a neutral element: every result tuple says, as its
// last result, whether it is that of any point, and what is that of none leaves the other operand
// as it is. A store function leaves that result out. Expects a reduction. Its laws are those of the
// operator, which were checked.
Expression WithPresence(const Expression& expression);

// The same decomposition of that.
LowLevelExpression WithPresence(const LowLevelExpression& low_level);

}  // namespace mdh

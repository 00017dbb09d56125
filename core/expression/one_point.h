// What parameters of an expression with an empty dimension are for.
#pragma once

#include "core/expression/expression.h"

namespace mdh {

// The same with one point per dimension, and no extent of 0. Its kernels mean nothing: it stands
// for an empty expression where parameters are chosen, checked and listed, of which none matters.
Expression WithOnePoint(const Expression& expression);

}  // namespace mdh

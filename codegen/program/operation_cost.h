// How long operations on values take, as far as choices between kinds of code need it.
#pragma once

#include "core/scalar/scalar_function.h"

namespace mdh {

// In additions. From kFunctionCost on: functions of a library of mathematics, as exp.
inline constexpr int kFunctionCost = 12;
int OperationCost(ScalarOp op);

}  // namespace mdh

// What operations of scalar functions cost threads of GPUs, for the cost model.
#pragma once

#include "core/scalar/scalar_function.h"

namespace mdh {

// Instructions of a point: functions of the hardware have others around them, further ones are
// series.
double InstructionsOf(const ScalarInstruction& instruction);

// Whether compilers have a way of its own for operands that are too small or too large: a branch,
// in front of which no load of another point begins.
bool Branches(const ScalarInstruction& instruction);

}  // namespace mdh

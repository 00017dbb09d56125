// What operations of scalar functions cost threads of GPUs: for the cost model, and where the
// lowering has two ways to combine results.
#pragma once

#include <cstdint>

#include "core/expression/expression.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// Instructions of a point: functions of the hardware have others around them, further ones are
// series.
double InstructionsOf(const ScalarInstruction& instruction);

// Whether compilers have a way of its own for operands that are too small or too large: a branch,
// in front of which no load of another point begins.
bool Branches(const ScalarInstruction& instruction);

// Instructions that combine two results of a reduction; 1 of an expression without one.
double CombineInstructions(const Expression& expression);

// How many of `threads` that combine `results` of each share these out: as many as divide them.
int64_t OwnersOf(int64_t results, int64_t threads);

// Whether `threads` of a block combine `results` of each sooner by a tree, each step of which waits
// for all threads, than if every one of them combines `own` of the results of all, one after the
// other. `combine`: CombineInstructions.
bool TreeIsShorter(int64_t threads, int64_t results, int64_t own, double combine);

}  // namespace mdh

// A pass: what a selection rarely takes is evaluated only where it is taken.
#pragma once

#include "codegen/loop_program.h"

namespace mdh {

struct BranchSelectionsOptions {
  // The least cost of an operand that a branch is worth, in additions. On GPUs both ways of a
  // branch that threads of a warp take differently cost no more than before, but for the branch.
  int least_cost = 24;
};

// Expects any program whose names are declared once in each function or stage. Ensures the same
// computation in which an operand of a selection that costs so much, by the operations that nothing
// else needs, is evaluated in a branch (IfAny), with the declarations before it that only it uses.
// Of two such operands each has its branch. Selections inside others' operands are treated alike.
LoopProgram BranchSelections(LoopProgram program, const BranchSelectionsOptions& options = {});

}  // namespace mdh

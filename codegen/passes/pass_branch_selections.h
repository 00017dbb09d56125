// If-conversion undone: what a selection rarely takes is evaluated in a branch, only where it is
// taken.
#pragma once

#include "codegen/program/loop_program.h"

namespace mdh {

// All in additions. On GPUs both ways of a branch that threads of a warp take differently cost no
// more than before, but for the branch.
struct BranchSelectionsOptions {
  int least_cost = 24;    // of an operand
  int least_dropped = 4;  // comparisons that a guard does without
  int least_change = 6;   // of all that changes results
};

// Expects any program whose names are declared once in each function or stage. Ensures the same
// computation with branches (IfAny) around
//   - an operand of a selection that costs so much, by the operations that nothing else needs; of
//     two such operands each has its branch. Where its condition has many comparisons, only a
//     weaker one (codegen/passes/weaker_condition.h) is evaluated before a branch around both.
//   - what several results become where they do not stay as they were: the best so far is rarely
//     replaced.
// Declarations that only a branch needs move into it. Selections inside branches are treated alike.
LoopProgram BranchSelections(LoopProgram program, const BranchSelectionsOptions& options = {});

}  // namespace mdh

// Loop expressions (paper, Figure 9 and Section 4.1): functions from loop nests to loop
// nests. None of them asks whether the result still computes the same; core/teml/dependences.h
// does.
#pragma once

#include "core/base/status.h"
#include "core/teml/loop_tree.h"
#include "core/teml/program_text.h"
#include "core/teml/syntax.h"

namespace mdh {

// What a transformation needs to name loops and to say what is wrong.
struct TransformationContext {
  Token statement;  // of the expression
  const LoopSyntax* syntax;
  NameSupply* names;
  const ProgramText* text;
};

// build (19): a perfect nest with one loop per iterator.
LoopTrees BuildLoops(const AssignmentPointer& assignment);

// Any other loop expression. `loops`: what its names stand for. Errors: InvalidArgument, with the
// equation whose pattern the nest does not have.
Result<LoopTrees> Transform(const TransformationContext& context,
                            const std::vector<LoopTrees>& loops);

}  // namespace mdh

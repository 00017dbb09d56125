// Whether loops compute what the assignments mean in the order of their statements. TeML does not
// ask (paper, Section 7); whoever generates code of the loops has to.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/teml/loop_tree.h"
#include "core/teml/program_text.h"

namespace mdh {

// A nest of codegen's list.
struct GeneratedLoops {
  Token token;  // the name in the list, or the statement that made it
  LoopTrees trees;
};

// Checks, for every two assignments of which one writes a tensor that the other reads or writes,
// that the instances which use the same element run in the order of the statements, also where
// loops that are parallel or vectorized run in any order. Instances of one assignment may run in
// any order: they write different elements, or combine values by an operation that is associative
// and commutative. Decided exactly, as integer points of linear systems. Errors: InvalidArgument
// that names both lines and an element; also if there is too much to compare.
Status CheckDependences(const std::vector<GeneratedLoops>& generated, const ProgramText& text);

}  // namespace mdh

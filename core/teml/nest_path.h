// The loops around an assignment, as what each of them does to one of its iterators.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/teml/loop_tree.h"

namespace mdh {

enum class PathLoopKind : uint8_t {
  kSequential = 1,
  kParallel = 2,
  kVector = 3,    // perhaps parallel as well
  kUnrolled = 4,  // no loop any more: the copies of its body
};

struct PathLoop {
  int iterator;    // number of the assignment's iterator
  int64_t points;  // values of the iterator in one iteration; 1 for single points
  PathLoopKind kind;
  Token token;  // the statement that made it what it is

  bool operator==(const PathLoop& other) const {
    return iterator == other.iterator && points == other.points && kind == other.kind;
  }
};

// Outermost first; all that there are around the assignment with that number in a tree that has it.
// Copies that unrolling has made are one loop again: around those inside of it, however often they
// stand there. Errors: FailedPrecondition if the copies are not those of whole loops.
Result<std::vector<PathLoop>> PathTo(int assignment, const LoopTrees& trees);

}  // namespace mdh

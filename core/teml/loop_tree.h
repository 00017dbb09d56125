// The domain L of loop nests (paper, equations (2) and (3)).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/teml/assignment.h"
#include "core/teml/iterator_index.h"

namespace mdh {

struct LoopNode;
// Immutable, shared; never null.
using LoopTree = std::shared_ptr<const LoopNode>;

// [x_1, ..., x_k]: below a loop, or, of several trees, <bullet, [x_1, ..., x_k]> at the top.
using LoopTrees = std::vector<LoopTree>;

// for (iterator = lower; iterator <= every upper; iterator++): the range (lb, ub, st) of an
// iterator. st is always 1. Where the step of stripmine does not divide the loop there are two
// upper bounds, and the last part is shorter.
struct CountedLoop {
  std::string iterator;
  IteratorIndex lower;  // in terms of the iterators outside
  std::vector<IteratorIndex> upper;
  bool is_parallel = false, is_vector = false;
  Token token = {};  // the statement that made it what it is, for messages
  LoopTrees body = {};

  // Whether the ranges are the same, whatever the iterators are called.
  bool HasRangeOf(const CountedLoop& other) const {
    return lower == other.lower && upper == other.upper;
  }
};

// An assignment, in which iterators stand for other indices once loops are unrolled or fused.
struct AssignmentLeaf {
  AssignmentPointer assignment;
  IteratorSubstitution values = {};
};

struct LoopNode {
  std::variant<CountedLoop, AssignmentLeaf> node;
  int64_t leaves = 1;  // assignments below, at most 2^62
  int depth = 0;       // loops around the deepest one

  const CountedLoop* loop() const { return std::get_if<CountedLoop>(&node); }
  const AssignmentLeaf* leaf() const { return std::get_if<AssignmentLeaf>(&node); }
};

LoopTree MakeLoop(CountedLoop loop);
LoopTree MakeLeaf(AssignmentLeaf leaf);

int64_t LeavesOf(const LoopTrees& trees);
// The numbers of the assignments, each once.
std::set<int> AssignmentsOf(const LoopTrees& trees);
// The deepest nesting of loops.
int DepthOf(const LoopTrees& trees);
// Loops that each have one child, or, the innermost, assignments: r of a perfect nest.
int PerfectDepthOf(const LoopTrees& trees);

// With other indices for iterators, in bounds and assignments.
LoopTrees Substituted(const LoopTrees& trees, const IteratorSubstitution& values);

// What the target program computes, in C's notation, with parallel and vectorized loops marked by
// OpenMP's pragmas:
//   for (int i = 0; i <= 9; i++)
//     y[i] = y[i] + x[i];
std::string ToText(const LoopTrees& trees);

}  // namespace mdh

// The loop nests of a low-level expression, level by level (paper, appendix E), and the low-level
// buffers that they need: between LowLevelExpression and LoopProgram. The passes of appendix F that
// the paper's code generator performs work on this form.
//
// For every MDH dimension d a point's index is the sum over the layers l of p(l, d) * tile(l, d),
// with 0 <= p(l, d) < parts(l, d). A level that is assigned to a core layer is the number of a
// block or thread; one that is assigned to a memory layer is a loop. Points outside of the
// dimension's size do not exist: tiles that do not divide leave such points, and code guards
// against them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/decomposition/low_level_expression.h"

namespace mdh {

// One loop nest (Listings 17-19) and the phases that it computes.
struct Nest {
  std::vector<PhaseKind> phases;
  PhaseParameters parameters;  // D1, D2; S1, S2; R1, R2
};

// A low-level buffer (Definition 13; ll_IB of Listing 15): a copy of the part of an input that the
// levels from `place` on read.
struct NestCopy {
  int input;
  int place;         // in the order of the de-composition phase: copied in front of that level
  int region;        // number of the memory region
  bool is_shared;    // by the threads of a block; otherwise every thread has one
  std::string name;  // "A_sm"
  std::vector<int> layout;  // order of the buffer's dimensions, outermost first
  // The box of buffer indices that it holds: origin + step * (0 .. extent - 1) in each dimension.
  std::vector<int64_t> extents, steps;
  // MDA dimensions over whose points copying iterates.
  std::vector<int> iterated;
  // Whether all threads of the block share the copying, or each copies what it reads itself.
  bool uses_all_threads;
  int64_t padding;  // elements that rows of the innermost dimension are longer
  int width;        // elements that a thread moves at once
  int stages;       // 2: double-buffered; asynchronous copies: parts that have room
  bool is_asynchronous;

  int64_t elements() const;  // padding included
  // Elements from one step in each buffer dimension to the next.
  std::vector<int64_t> strides() const;
};

struct NestPlan {
  std::vector<Nest> nests;  // run one after the other
  std::vector<NestCopy> copies;

  // One line per nest and copy.
  std::string ToString(const LowLevelExpression& low_level) const;
};

// As Listings 15-19 say it: a nest per phase; a buffer for each input and level whose region is not
// the outermost one, as large as the input, copied point by point of the MDA.
NestPlan BuildNestPlan(const LowLevelExpression& low_level);

// Loop Fusion: neighbouring nests with the same order and assignment become one, so that the MDAs
// between them need no memory.
NestPlan FuseLoops(NestPlan plan);
// Buffer Elimination: a buffer whose region and layout are those of the one outside is that one.
NestPlan EliminateBuffers(NestPlan plan);
// Buffer Size Reduction: a buffer holds the box that is read from its place on; common factors and
// offsets of the index functions are left out.
NestPlan ReduceBufferSizes(const LowLevelExpression& low_level, NestPlan plan);
// Memory Operation Minimization: copying iterates only over the dimensions that the index functions
// use, with all threads of the block, whatever dimensions they are meant for.
NestPlan MinimizeMemoryOperations(const LowLevelExpression& low_level, NestPlan plan);

// All of them, in this order.
NestPlan OptimizedNestPlan(const LowLevelExpression& low_level);

}  // namespace mdh

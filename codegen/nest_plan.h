// The loop nest of a low-level expression, level by level (paper, appendix E), and what memory it
// needs: between LowLevelExpression and LoopProgram. Passes of appendix F work on this form.
//
// For every MDH dimension d a point's index is the sum over the layers l of p(l, d) * tile(l, d),
// with 0 <= p(l, d) < parts(l, d). A level assigned to a core layer is the number of a block or
// thread; one assigned to a memory layer is a loop. Points outside of the dimension's size do not
// exist: tiles that do not divide leave such points, and code guards against them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/loop_program.h"
#include "codegen/result_targets.h"
#include "core/low_level_expression.h"

namespace mdh {

// One MDH level with more than one part; levels of one part need no code.
struct NestLevel {
  MdhLevel level;
  LayerRole role;  // of the layer that it is assigned to
  int asm_dimension;
  int64_t parts;
  int64_t tile;
  std::string variable;  // number of the part: "i_blk"
};

// A copy of a part of an input buffer (low-level BUF, Definition 13): what levels from `position`
// on read instead of the copy (or buffer) outside of it.
struct NestCopy {
  int input;
  int position;  // in NestPlan::levels: made between that level and the one before it
  MemorySpace space;
  std::string name;  // "A_shr"
  // Per buffer dimension: the copied indices are origin + 0..extent-1 times `step`, where origin is
  // affine in the variables of the levels that are fixed at `position`.
  std::vector<int64_t> extents;
  std::vector<int64_t> steps;  // 1, or the common factor of the index function
  std::vector<int> layout;     // outermost first
  int64_t row_padding;         // elements
  int width;                   // elements that a thread moves at once
  int stages;                  // 2: double-buffered
  // Elements from one copied index to the next, per buffer dimension; elements of one stage.
  std::vector<int64_t> strides;
  int64_t elements;
};

// Where results are combined: `position` is the first level that keeps them in registers (or shared
// memory); the levels outside combine in the targets.
struct NestAccumulators {
  int position;
  MemorySpace space;
  // Elements of the array, per level of NestPlan::levels that has an index in it: sequential levels
  // at or inside `position` whose dimension is not reduced.
  std::vector<int64_t> strides;  // per level, 0: none
  int64_t elements;
};

// Immutable after construction.
struct NestPlan {
  Expression expression;
  std::vector<NestLevel> levels;  // outermost first, in the order of the phases
  std::vector<NestCopy> copies;
  NestAccumulators accumulators;
  LaunchGeometry launch;
  std::vector<std::string> index_names, input_names, output_names;
  bool uses_result_arrays;
  std::vector<ResultTarget> targets;
  int64_t unroll;
  NumericsPolicy numerics;

  // Whether points of dimension d may lie outside of its size, so that code must guard.
  bool IsGuarded(int d) const;
  int64_t size(int d) const { return expression.dimensions()[d].size; }
  // As text, one line per level, copy and array; what the passes' tests compare.
  std::string ToString() const;
};

}  // namespace mdh

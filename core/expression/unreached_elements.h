// Elements of outputs that no index function reaches. Definition 10 says that none is reached
// twice, so that they can be counted; where they are follows from the strides of the index
// functions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/expression/expression.h"

namespace mdh {

// Elements [first, first + length) and, for every level, `count` times the same, `step` apart.
// Counted in the order of memory (PositionStrides), as if strides had no room between elements.
struct ElementRuns {
  struct Level {
    int64_t count, step;
  };
  int64_t first;
  std::vector<Level> levels;  // outermost first
  int64_t length;

  int64_t runs() const;  // product of the counts
};

struct UnreachedElements {
  // Disjoint.
  std::vector<ElementRuns> runs;
  // Whether the runs have all elements that are not reached and no others. It is false where index
  // functions overlap in a way that has no such form, e.g. 2 i + 3 j, or that has too many runs:
  // then they have reached elements, too.
  bool is_exact = true;
};

// Of output number `output`, whether they are kept or become zero. At most 64 runs.
UnreachedElements FindUnreached(const Expression& expression, int output);

// Their number.
int64_t UnreachedCount(const Expression& expression, int output);

// Per dimension of the buffer: the positions in the order of its elements in memory from one index
// to the next. A dense buffer's strides, in whatever order its dimensions are; others are as if
// they had no room between elements.
std::vector<int64_t> PositionStrides(const Buffer& buffer);

// What an element of an output's memory has after a call.
enum class ElementContent : uint8_t {
  kResult,
  kZero,    // no index function reaches it
  kFormer,  // what was there before: it is kept, or is memory between elements with strides
};

// Of every element that the memory of the output holds; empty: all are results. Serves to judge
// kernels.
std::vector<ElementContent> ElementContents(const Expression& expression, int output);

}  // namespace mdh

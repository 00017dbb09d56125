// Numbers of parts, items and threads taken apart: mixed radix.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codegen/program/loop_program.h"
#include "core/expression/expression.h"

namespace mdh {

// The digits of a number below `count`, the one that varies fastest first.
class Digits {
 public:
  Digits(Index number, int64_t count) : rest_(std::move(number)), left_(count) {}

  // The next digit, which has so many values: the last one is all that is left.
  Index Next(int64_t values) {
    left_ /= values;
    Index digit = left_ == 1 ? rest_ : rest_ % values;
    rest_ = rest_ / values;
    return digit;
  }

 private:
  Index rest_;
  int64_t left_;  // values of what is behind the digits that were taken
};

// The digit of a number below `count` that has so many values and stays the same for `stride`
// numbers that follow each other.
Index DigitAt(const Index& number, int64_t stride, int64_t values, int64_t count);

// Number `number` of 0, count - 1, 1, count - 2, ...: where parts have the more to do the greater
// their number is, those that follow each other have about as much together, whichever they are.
Index Folded(const Index& number, int64_t count);

// Declares the indices of the point with that number among those along `dimensions`, of which the
// last varies fastest. Gives the indices of all dimensions: 0 where there is one point, and along
// others. `names`: by dimension.
std::vector<Index> DeclarePoint(const Expression& expression, const std::vector<int>& dimensions,
                                Index number, const std::vector<std::string>& names, Block* block);

}  // namespace mdh

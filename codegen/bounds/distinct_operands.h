// How many different operands an operation of a computation has at least: it need not be repeated
// for equal ones.
#pragma once

#include <cstdint>
#include <vector>

#include "core/expression/dependences.h"
#include "core/expression/expression.h"

namespace mdh {

// What a value is made of: the affine functions of the indices (their coefficients, one per
// dimension) that say which elements it reads, and which indices it uses.
using Coefficients = std::vector<std::vector<int64_t>>;

// Refers to the expression.
class DistinctOperands {
 public:
  explicit DistinctOperands(const Expression& expression);

  // Of those parameters of f that are marked.
  Coefficients OfParameters(const std::vector<bool>& parameters) const;
  // Whether one of them is read from an input.
  bool ReadsInput(const std::vector<bool>& parameters) const;
  // Of an access of a buffer.
  static Coefficients OfAccess(const Buffer& buffer, int access);
  Coefficients OfIndex(int dimension) const;

  // A lower bound on the number of different tuples of elements on the points along `within`, other
  // indices being fixed: points that a map tells apart read different elements. Points at which an
  // access leaves a buffer with a boundary are left out. 1 where nothing varies.
  double Count(const Coefficients& rows, DimensionSet within) const;
  // Points along these dimensions, without the same ones.
  double Points(DimensionSet dimensions) const;

 private:
  const Expression& expression_;
  std::vector<int64_t> sizes_;  // of a box in which no access, of f or the store function, leaves
};

}  // namespace mdh

// Work that every point of a computation takes, in whatever box of points it is: what a block, a
// thread or a core does follows from its points.
#pragma once

#include <array>
#include <vector>

#include "codegen/bounds/certain_work.h"
#include "core/expression/dependences.h"
#include "core/expression/expression.h"

namespace mdh {

struct PointWork {
  // Of f at each point, by RealKind. An operation counts if its operands are different elements at
  // all points, so that no two points can share it; of multiplications that FactorOrder may reorder
  // one, as the others may become such that points share.
  std::array<ArithmeticWork, 3> function = {};
  // Combining its results with others: at all points of a box but one for each of its results.
  std::array<ArithmeticWork, 3> combining = {};
  // Whether the expression is a contraction (core/expression/contraction_form.h).
  bool is_contraction = false;

  // An input that is read at every point: a box reads one element at least for all its points that
  // differ along these dimensions.
  struct Read {
    DimensionSet distinct = 0;
    DimensionSet depends = 0;  // that the place of what is read depends on
    int input = 0;
    int element_bytes = 0;
  };
  std::vector<Read> reads;  // one of each input
};

// Whether what is combined may be the neutral element at most points, as a selection or a table
// gives it, which can be left out.
bool MayCombineNeutrals(const Expression& expression);

// Nothing where results have keys or are prefix sums, or an access leaves a buffer with a boundary.
PointWork PointWorkOf(const Expression& expression);

}  // namespace mdh

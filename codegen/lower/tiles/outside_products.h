// Products with the zeros around a buffer, as those of a convolution's padding, are left out where
// a register tile reads nothing else. They are zero if their other factors are finite, and nan
// otherwise, so that these are looked at first.
#pragma once

#include <optional>

#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

// Inputs of the expression, by their numbers.
struct OutsideProducts {
  int zeros;   // zero outside
  int factor;  // the other one
};

// nullopt: f adds up no such products, their order is not free, or they are too few to be worth
// looking at the other input.
std::optional<OutsideProducts> OutsideProductsOf(const Expression& expression,
                                                 NumericsPolicy numerics);

}  // namespace mdh

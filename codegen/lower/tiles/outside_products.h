// Products with the zeros around a buffer, as those of a convolution's padding, are left out where
// a register tile reads nothing else. They are zero if their other factors are finite, and nan
// otherwise, so that these are looked at first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/program/loop_program.h"
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

// Declares the flag `name`: whether all elements at `pointer` are finite. `lanes`: of vectors.
Block DeclareFinite(const std::string& name, const std::string& pointer, const Buffer& buffer,
                    int lanes);

// Least and greatest value of an index where dimension d goes from first[d] to last[d].
struct IndexBounds {
  Index low, high;
};
IndexBounds BoundsOf(const AffineIndex& index, absl::Span<const Index> first,
                     absl::Span<const Index> last);

}  // namespace mdh

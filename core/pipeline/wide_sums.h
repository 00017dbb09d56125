// Results in halves (types that exist in memory only) are combined in the type that they are
// computed in and rounded once, where they are stored, as matrix units add them up. Otherwise every
// sum of two of them would be: 256 + 1 is 256 in bf16.
#pragma once

#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// Whether results of the expression are: under policies that re-associate, of sums and the like.
// Operators of a user's function keep their types.
bool HasWideSums(const Expression& expression, NumericsPolicy numerics);

// The function with results of the types that they are computed in: what operations give that is
// nothing but a result is not rounded to a narrower type.
ScalarFunction WithWideResults(const ScalarFunction& function);

// With f, and what its results are combined by, as kernels compute them: that of the expression, or
// WithWideResults. For that alone: results no longer have the types of what they are stored in.
Expression WithWideSums(const Expression& expression, NumericsPolicy numerics);

}  // namespace mdh

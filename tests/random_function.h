// Random scalar functions and combine operators, with bounds on the values they compute.
#pragma once

#include <string>
#include <vector>

#include "core/combine_operator.h"
#include "core/scalar_function.h"
#include "tests/random_expression.h"

namespace mdh {

// Scalar function on parameters of these types. If options.exact: floating-point results are at
// most `result_bound` in magnitude for the inputs of RandomInputs, and never -0.
ScalarFunction RandomFunction(Rng& rng, const RandomExpressionOptions& options,
                              const std::vector<TypedName>& parameters,
                              const std::vector<TypedName>& results, double result_bound);

// An associative and commutative operator on tuples of these types: a named one or a custom one. If
// options.exact, combining n values of magnitude m gives at most n * (m + 1) on floating point.
CombineOperator RandomReduction(Rng& rng, const RandomExpressionOptions& options,
                                const std::vector<ScalarType>& types);

// One of the elements.
template <typename T>
const T& AnyOf(Rng& rng, const std::vector<T>& elements) {
  return elements[Below(rng, static_cast<int64_t>(elements.size()))];
}

}  // namespace mdh

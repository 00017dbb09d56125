// Random scalar functions, with bounds on the values they compute.
#pragma once

#include <vector>

#include "core/scalar/scalar_function.h"
#include "tests/random_expression.h"

namespace mdh {

struct FunctionParameter {
  TypedName name;
  double bound;  // largest magnitude of its values
};

struct FunctionResult {
  TypedName name;
  double bound;  // at least 1; in exact mode values are at most this in magnitude, and never -0
};

ScalarFunction RandomFunction(Rng& rng, const RandomExpressionOptions& options,
                              const std::vector<FunctionParameter>& parameters,
                              const std::vector<FunctionResult>& results);

}  // namespace mdh

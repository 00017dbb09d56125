// Random combine operators.
#pragma once

#include <vector>

#include "core/expression/combine_operator.h"
#include "tests/random_expression.h"

namespace mdh {

// A result of f, as combine operators see it.
struct CombinedResult {
  ScalarType type;
  // How large combined values may become in exact mode: infinite if every value of the type is
  // fine.
  double limit;
  // Whether adding up as many values as there are, each of at least 2, stays within the limit.
  bool may_add_up;
};

// Associative and commutative: a named operator, one per result, or a custom one. Combining n
// values of magnitude m gives at most n * (m + 1) where the limit is finite, and at most m where
// results may not add up.
CombineOperator RandomReduction(Rng& rng, const RandomExpressionOptions& options,
                                const std::vector<CombinedResult>& results);

// Associative, but not commutative. The same bounds.
CombineOperator RandomScan(Rng& rng, const std::vector<CombinedResult>& results);

}  // namespace mdh

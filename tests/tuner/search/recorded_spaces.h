// Small spaces and cost functions for tests of searches.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tuner/search/techniques/search_technique.h"
#include "tuner/space/search_space.h"

namespace mdh {

inline Range IntegersOf(std::vector<int64_t> values) { return *Range::Integers(std::move(values)); }

inline SearchSpace SpaceOf(std::vector<TuningParameter> parameters,
                           std::vector<Constraint> constraints = {},
                           const SpaceOptions& options = {}) {
  Result<SearchSpace> space =
      SearchSpace::Create(std::move(parameters), std::move(constraints), options);
  EXPECT_TRUE(space.ok()) << space.status();
  if (!space.ok()) std::abort();
  return *std::move(space);
}

// 90 configurations of every kind of parameter: OUTER, INNER dividing it, LANES, ORDER, PACK.
inline SearchSpace SmallSpace(const SpaceOptions& options = {}) {
  const Formula outer = Formula::Parameter("OUTER");
  const Formula inner = Formula::Parameter("INNER");
  return SpaceOf({{"OUTER", IntegersOf({1, 2, 4, 8, 16})},
                  {"INNER", IntegersOf({1, 2, 4, 8, 16})},
                  {"ORDER", *Range::Permutations({"i", "j", "k"})},
                  {"MODE", *Range::Of({Value(std::string("none"))})}},
                 {Divides(inner, outer)}, options);
}

// A valley with its bottom at OUTER = 8, INNER = 2, the fourth order.
inline double ValleyCost(const Configuration& configuration) {
  const double outer = std::log2(static_cast<double>(configuration[0])) - 3;
  const double inner = std::log2(static_cast<double>(configuration[1])) - 1;
  const double order = std::abs(static_cast<double>(configuration[2]) - 3);
  return 100 + 20 * outer * outer + 10 * inner * inner + 3 * order;
}

}  // namespace mdh

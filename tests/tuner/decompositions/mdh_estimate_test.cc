// Estimates of configurations: of all that a space of register tiles has, in the order in which the
// cost model has tiles.
#include "tuner/decompositions/mdh_estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codegen/choose/default_parameters.h"
#include "tests/drawn.h"
#include "tests/fresh_seed.h"
#include "tests/shipped_expression.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"

namespace mdh::mdh_estimate_test {
namespace {

Result<MdhSpace> SpaceOn(const SpaceBackend& backend, const std::string& name) {
  MDH_ASSIGN_OR_RETURN(const Expression expression,
                       ShippedExpression(SourcePath(), name, INT64_MAX));
  return MdhSpace::Create(expression, backend.model, backend.device);
}

TEST(MdhEstimateTest, OfRegisterTilesOnly) {
  for (const SpaceBackend& backend : SpaceBackends()) {
    const auto space = SpaceOn(backend, "matmul");
    ASSERT_TRUE(space.ok()) << space.status();
    EXPECT_EQ(MdhEstimateOf(*space) != nullptr, backend.name == "OpenMP") << backend.name;
  }
}

TEST(MdhEstimateTest, OfEverything) {
  Rng rng(FreshSeed());
  for (const std::string& name : Drawn(ShippedExpressionNames(SourcePath()), 8)) {
    SCOPED_TRACE(name);
    const auto space = SpaceOn(SpaceBackends()[0], name);
    ASSERT_TRUE(space.ok()) << space.status();
    const std::shared_ptr<const CostEstimate> estimate = MdhEstimateOf(*space);
    for (int n = 0; n < 100; ++n) {
      const Configuration drawn = space->space().Sample(rng);
      const double cycles = estimate->Of(drawn);
      ASSERT_TRUE(std::isfinite(cycles) && cycles > 0) << space->space().ToText(drawn);
    }
  }
}

// What rules say is among what is expected to be best.
TEST(MdhEstimateTest, OfDefaultsIsAmongTheLeast) {
  const auto space = SpaceOn(SpaceBackends()[0], "matmul");
  ASSERT_TRUE(space.ok()) << space.status();
  const std::shared_ptr<const CostEstimate> estimate = MdhEstimateOf(*space);
  const double of_default = estimate->Of(
      space->EncodeNearest(DefaultParameters(space->divided(), space->model(), space->device())));
  Rng rng(1);
  int better = 0;
  for (int n = 0; n < 1000; ++n) {
    better += estimate->Of(space->space().Sample(rng)) < of_default ? 1 : 0;
  }
  EXPECT_LT(better, 20);
}

}  // namespace
}  // namespace mdh::mdh_estimate_test

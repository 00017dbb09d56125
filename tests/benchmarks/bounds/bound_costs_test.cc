// The page about what bounds cost.
#include "tests/benchmarks/bounds/bound_costs.h"

#include <gtest/gtest.h>

namespace mdh::bound_costs_test {
namespace {

TEST(BoundCosts, ThePageHasEverySpace) {
  EXPECT_EQ(BoundCostsPage({{.space = "a",
                             .configurations = "1e+09",
                             .step_ns = 1500,
                             .describe_ns = 2.5e6,
                             .decided_ns = 1e5,
                             .bytes = 900},
                            {.space = "b"}}),
            "| space | configurations | a step | all values described | half of it decided | bytes "
            "|\n|---|--:|--:|--:|--:|--:|\n"
            "| a | 1e+09 | 1.50 us | 2.5 ms | 0.1 ms | 900 |\n"
            "| b | too many | 0.00 us | 0.0 ms | 0.0 ms | 0 |\n");
}

TEST(BoundCosts, WithoutCasesThereAreNone) { EXPECT_FALSE(MeasureBoundCosts("/nowhere").ok()); }

}  // namespace
}  // namespace mdh::bound_costs_test

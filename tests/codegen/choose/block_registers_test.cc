// How many registers the cost model of GPUs leaves to threads.
#include <gtest/gtest.h>

#include "codegen/choose/block_cost.h"
#include "codegen/choose/block_design.h"
#include "tests/codegen/choose/sample_designs.h"

namespace mdh::block_registers_test {
namespace {

// Of 18 warps two of the four schedulers have five: as if there were 20, a thread of which has 96
// registers, as these are given out by eights.
TEST(BlockRegistersTest, SchedulersHaveAFourthOfTheRegisters) {
  const Expression product = Shipped("matmul.mdh", {{"I", "2304"}, {"J", "2304"}, {"K", "256"}});
  const BlockCostModel model(product, Gpu());
  const auto cost_of = [&](int64_t threads, int64_t vector, int64_t strided) {
    BlockDesign design;
    design.cuts = {{.threads = threads, .vector = vector},
                   {.threads = 32, .vector = 4, .strided = strided},
                   {.threads = 1, .vector = 8}};
    design.copies = {BlockDesign::Copy::kChunk, BlockDesign::Copy::kChunk};
    design.lane_dimension = 1;
    design.unrolled = 1;
    return model.Estimate(design);
  };
  EXPECT_TRUE(cost_of(18, 6, 2).fits) << cost_of(18, 6, 2).registers;
  // By warps alone the 18 would have 113 each.
  const double most = cost_of(16, 14, 1).registers;
  ASSERT_TRUE(most > 102.4 && most <= 113) << most;
  EXPECT_TRUE(cost_of(16, 14, 1).fits);
  EXPECT_FALSE(cost_of(18, 14, 1).fits);
  EXPECT_FALSE(cost_of(20, 14, 1).fits);
  // What 18 warps may have is what 20 may.
  for (const int64_t vector : {4, 6, 8, 10, 12, 14}) {
    for (const int64_t strided : {1, 2, 3}) {
      EXPECT_EQ(cost_of(18, vector, strided).fits, cost_of(20, vector, strided).fits)
          << vector << " " << strided;
    }
  }
}

}  // namespace
}  // namespace mdh::block_registers_test

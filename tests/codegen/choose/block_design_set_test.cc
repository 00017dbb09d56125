#include "codegen/choose/block_design_set.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::block_design_set_test {
namespace {

using ::testing::Pair;
using Copy = BlockDesign::Copy;

BlockDesign Plain() {
  BlockDesign design;
  design.cuts.assign(3, {});
  design.copies.assign(2, Copy::kNone);
  return design;
}

BlockDesign Elaborate() {
  BlockDesign design = Plain();
  design.cuts = {{.threads = 1024, .vector = 3, .strided = 5},
                 {.threads = 2, .vector = 7, .loops = 1000},
                 {.threads = 4, .vector = 16, .blocks = 65535}};
  design.copies = {Copy::kBlock, Copy::kChunk};
  design.async_stages = {0, 4};
  design.lane_dimension = 2;
  design.unrolled = 1;
  design.combine_blocks = CombineBlocks::kAtomics;
  return design;
}

TEST(BlockDesignSetTest, DesignsHaveNumbersInTheOrderInWhichTheyCome) {
  BlockDesignSet set(3, 2);
  EXPECT_THAT(set.Insert(Plain()), Pair(0, true));
  EXPECT_THAT(set.Insert(Elaborate()), Pair(1, true));
  EXPECT_THAT(set.Insert(Plain()), Pair(0, false));
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(set.At(0), Plain());
  EXPECT_EQ(set.At(1), Elaborate());
}

TEST(BlockDesignSetTest, TellsDesignsApartByEveryNumber) {
  BlockDesignSet set(3, 2);
  set.Insert(Elaborate());
  for (int change = 0; change < 10; ++change) {
    BlockDesign other = Elaborate();
    if (change == 0) other.cuts[0].threads = 512;
    if (change == 1) other.cuts[1].vector = 8;
    if (change == 2) other.cuts[0].strided = 6;
    if (change == 3) other.cuts[1].loops = 999;
    if (change == 4) other.cuts[2].blocks = 256;
    if (change == 5) other.copies[0] = Copy::kTile;
    if (change == 6) other.async_stages = {0, 3};
    if (change == 7) other.lane_dimension = 0;
    if (change == 8) other.unrolled = 0;
    if (change == 9) other.combine_blocks = CombineBlocks::kPartials;
    EXPECT_THAT(set.Insert(other), Pair(change + 1, true)) << change;
    EXPECT_EQ(set.At(set.size() - 1), other) << change;
  }
}

TEST(BlockDesignSetTest, KeepsThousands) {
  BlockDesignSet set(3, 2);
  const auto design = [](int n) {
    BlockDesign one = Plain();
    one.cuts[0].threads = 1 + n % 100;
    one.cuts[2].blocks = 1 + n / 100;
    return one;
  };
  for (int n = 0; n < 5000; ++n) EXPECT_THAT(set.Insert(design(n)), Pair(n, true));
  for (int n = 0; n < 5000; ++n) EXPECT_THAT(set.Insert(design(n)), Pair(n, false));
  EXPECT_EQ(set.At(4321), design(4321));
}

}  // namespace
}  // namespace mdh::block_design_set_test

#include "codegen/choose/product_tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/choose/block_candidates.h"
#include "core/text/parser.h"
#include "tests/codegen/choose/sample_designs.h"

namespace mdh::product_tiles_test {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<BlockDesign> TilesOf(const Expression& e, int lane,
                                 const DeviceDescription& device = Gpu()) {
  std::vector<BlockDesign> all;
  VisitProductTiles(e, device, lane, [&](const BlockDesign& design) { all.push_back(design); });
  return all;
}

Expression Product(const char* i, const char* j, const char* k) {
  return Shipped("matmul.mdh", {{"I", i}, {"J", j}, {"K", k}});
}

bool HasTile(const std::vector<BlockDesign>& designs, const std::string& tile) {
  const Expression e = MatMul();
  return std::ranges::any_of(
      designs, [&](const BlockDesign& design) { return ToString(e, design).starts_with(tile); });
}

TEST(ProductTilesTest, ThreadsHaveManyResults) {
  const Expression product = Product("5249", "253", "1811");
  const std::vector<BlockDesign> designs = TilesOf(product, /*lane=*/1);
  EXPECT_TRUE(HasTile(designs, "i 2x16x4 j 2x32x4 k 3/1x16 A chunk async 3 B chunk async 3"));
  EXPECT_TRUE(HasTile(designs, "i 1x16x8 j 2x8x4 k 3/1x8 A chunk B chunk lanes j"));
  for (const BlockDesign& design : designs) {
    int64_t results = 1, threads = 1;
    for (const BlockDesign::Cut& cut : design.cuts) threads *= cut.threads;
    for (int d = 0; d < 2; ++d) results *= design.cuts[d].vector * design.cuts[d].strided;
    ASSERT_GE(results, 32);
    ASSERT_EQ(threads % 32, 0);
    ASSERT_LE(threads, 512);
    ASSERT_EQ(design.lane_dimension, 1);
    ASSERT_EQ(design.cuts[2].threads, 1);
  }
}

TEST(ProductTilesTest, PartsFillTheLastWave) {
  // 84 blocks of 128 x 128 for 132 multiprocessors.
  const Expression product = Product("5249", "253", "1811");
  std::vector<int64_t> parts;
  for (const BlockDesign& design : TilesOf(product, /*lane=*/1)) {
    const std::string text = ToString(product, design);
    const bool is_it = text.starts_with("i 2x16x4 j 2x16x4") && text.find("1x8") < text.size() &&
                       !design.async_stages.empty();
    if (is_it && design.combine_blocks == CombineBlocks::kPartials) {
      parts.push_back(design.cuts[2].blocks);
    }
  }
  EXPECT_THAT(parts,
              ::testing::ElementsAre(3, 11));  // .95 and 1 of whole waves; fewer have few threads
}

TEST(ProductTilesTest, NoneForOtherComputations) {
  EXPECT_THAT(TilesOf(MatMul(), /*lane=*/2), IsEmpty());  // is reduced
  EXPECT_THAT(TilesOf(Shipped("matvec.mdh", {{"I", "512"}, {"K", "512"}}), 0), IsEmpty());
  EXPECT_THAT(TilesOf(Product("4", "4", "512"), 1), IsEmpty());  // half of each tile is behind it
}

TEST(ProductTilesTest, CopiesAreThroughRegistersWhereNoOthersAre) {
  for (const BlockDesign& design : TilesOf(MatMul(), 1, GpuUnder(DeviceKind::kOpenCl))) {
    ASSERT_THAT(design.async_stages, IsEmpty());
  }
}

// Batches of which tiles of powers of two leave much to do twice.
TEST(ProductTilesTest, RulesChooseThemWhereTheyCostMuchLess) {
  const Expression batched = *ParseExpression(R"(
    batched :=
      out_view<fp32>( y: (b,i,j,k) -> (b,i,j) ) o
      md_hom<96,165,880,547>( f, (++, ++, ++, +) ) o
      inp_view<fp32,fp32>( a: (b,i,j,k) -> (b,i,k), c: (b,i,j,k) -> (b,j,k) )
    where f(a, c) -> y { y = a * c })");
  const std::vector<BlockCandidate> candidates =
      BlockCandidates(batched, CudaModel(), Gpu(), {.count = 1});
  ASSERT_THAT(candidates, SizeIs(1));
  EXPECT_TRUE(ToString(batched, candidates[0].design)
                  .starts_with("b 1x1x1 i 1x8x7 j 2x16x4 k 1/1x16 a chunk async 3 c chunk async 3"))
      << ToString(batched, candidates[0].design);
  EXPECT_EQ(candidates[0].design.resident_blocks, 4);
  EXPECT_EQ(candidates[0].design.copy_overlap, CopyOverlap::kCopies);
}

// A quarter of the candidates that tuning tries first, and a few more.
TEST(ProductTilesTest, TuningTriesSome) {
  const Expression product = Product("5249", "253", "1811");
  const std::vector<BlockDesign> tiles = TilesOf(product, 1);
  const auto is_tile = [&](const BlockCandidate& candidate) {
    BlockDesign plain = candidate.design;
    plain.copy_overlap = CopyOverlap::kNone;
    plain.early_launches = EarlyLaunches::kStages;
    return std::ranges::find(tiles, plain) != tiles.end();
  };
  const std::vector<BlockCandidate> candidates =
      BlockCandidates(product, CudaModel(), Gpu(), {.count = 40});
  EXPECT_GE(std::ranges::count_if(candidates, is_tile), 5);
  EXPECT_LE(candidates.size(), 40);
}

// A device that computes a part of a step has one block.
TEST(ProductTilesTest, NoneWithoutAGrid) {
  DeviceDescription device = Gpu();
  device.blocks.multiprocessors = 1;
  device.blocks.max_grid = {1, 1, 1};
  const std::vector<BlockCandidate> candidates =
      BlockCandidates(Product("64", "64", "64"), CudaModel(), device, {.count = 8});
  EXPECT_THAT(candidates, Not(IsEmpty()));
}

}  // namespace
}  // namespace mdh::product_tiles_test

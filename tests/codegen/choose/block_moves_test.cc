// How designs change.
#include "codegen/choose/block_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/codegen/choose/sample_designs.h"

namespace mdh::block_moves_test {
namespace {

using Copy = BlockDesign::Copy;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;

TEST(BlockMovesTest, ChangeOneThingAndNeverTheSameWayTwice) {
  const Expression matmul = MatMul();
  const BlockMoves moves(matmul, Gpu());
  const BlockDesign design = Tiled();
  const std::vector<BlockDesign> all = moves.Neighbours(design);
  std::set<std::string> texts;
  for (const BlockDesign& next : all) texts.insert(ToString(matmul, next));
  EXPECT_EQ(texts.size(), all.size());
  EXPECT_FALSE(texts.contains(ToString(matmul, design)));
  BlockDesign wider = design;
  wider.cuts[0].threads = 32;
  EXPECT_THAT(all, Contains(wider));
  wider.cuts[1].threads = 4;
  EXPECT_THAT(all, Contains(wider));
  BlockDesign direct = design;
  direct.copies[1] = Copy::kNone;
  EXPECT_THAT(all, Contains(direct));
}

TEST(BlockMovesTest, NeighboursAreShownInOrderFromAnyOfThemOn) {
  const Expression matmul = MatMul();
  const BlockMoves moves(matmul, Gpu(), {.lane_tiles = true});
  BlockDesign tiled = Tiled();
  SetLaneTile(matmul, 4, 8, &tiled);
  for (const BlockDesign& design : {Tiled(), Skinny(), tiled}) {
    const std::vector<BlockDesign> all = moves.Neighbours(design);
    for (const size_t first : {size_t{0}, size_t{7}, all.size() - 1, all.size(), all.size() + 1}) {
      std::vector<BlockDesign> shown;
      const size_t passed = moves.VisitNeighbours(design, first, [&](const BlockDesign& next) {
        shown.push_back(next);
        return true;
      });
      EXPECT_EQ(passed, all.size());
      const size_t begin = std::min(first, all.size());
      EXPECT_EQ(shown, std::vector<BlockDesign>(all.begin() + begin, all.end()));
    }
  }
}

TEST(BlockMovesTest, NoNeighbourIsShownAfterTheLastOneAskedFor) {
  const Expression matmul = MatMul();
  const BlockMoves moves(matmul, Gpu());
  const size_t count = moves.Neighbours(Tiled()).size();
  for (size_t last = 0; last < count; ++last) {
    size_t shown = 0;
    const size_t passed =
        moves.VisitNeighbours(Tiled(), 0, [&](const BlockDesign&) { return ++shown <= last; });
    EXPECT_EQ(shown, last + 1);
    EXPECT_EQ(passed, last + 1);
  }
}

TEST(BlockMovesTest, ChangeHowBlocksCombineWhereTheyDo) {
  const Expression matmul = SkinnyMatMul();
  BlockDesign other = Skinny();
  other.combine_blocks = CombineBlocks::kPartials;
  EXPECT_THAT(BlockMoves(matmul, Gpu()).Neighbours(Skinny()), Contains(other));
  EXPECT_THAT(BlockMoves(matmul, Gpu()).Neighbours(other), Contains(Skinny()));
  const DeviceDescription opencl = GpuUnder(DeviceKind::kOpenCl);
  EXPECT_THAT(BlockMoves(matmul, opencl).Neighbours(other), Not(Contains(Skinny())));
}

TEST(BlockMovesTest, CopiesBecomeAsynchronousWhereTheDeviceHasThat) {
  const Expression matmul = MatMul();
  const BlockDesign design = Tiled();
  BlockDesign asynchronous = design;
  asynchronous.async_stages = {0, 2};
  const auto neighbours = [&](const DeviceDescription& device, const BlockDesign& of) {
    return BlockMoves(matmul, device).Neighbours(of);
  };
  EXPECT_THAT(neighbours(Gpu(), design), Contains(asynchronous));
  const DeviceDescription opencl = GpuUnder(DeviceKind::kOpenCl);
  EXPECT_THAT(neighbours(opencl, design), Not(Contains(asynchronous)));
  // And back.
  const std::vector<BlockDesign> all = neighbours(Gpu(), asynchronous);
  EXPECT_THAT(all, Contains(design));
  BlockDesign direct = design;
  direct.copies[1] = Copy::kNone;
  EXPECT_THAT(all, Contains(direct));
  std::set<std::string> texts;
  for (const BlockDesign& next : all) texts.insert(ToString(matmul, next));
  EXPECT_EQ(texts.size(), all.size());
  // All of them have the same number of stages.
  asynchronous.async_stages = {0, 4};
  EXPECT_THAT(all, Contains(asynchronous));
  asynchronous.async_stages = {4, 4};
  EXPECT_THAT(neighbours(Gpu(), design), Not(Contains(asynchronous)));
  BlockDesign other = design;
  other.async_stages = {0, 4};
  EXPECT_THAT(neighbours(Gpu(), other), Contains(asynchronous));
}

TEST(BlockMovesTest, ChangeTilesOfLanesAndLoseThoseThatSayNothing) {
  const Expression matmul = MatMul();
  const BlockMoves moves(matmul, Gpu(), {.lane_tiles = true});
  BlockDesign tiled = Tiled(), narrow = Tiled(), other = Tiled();
  SetLaneTile(matmul, 4, 8, &tiled);
  SetLaneTile(matmul, 1, 2, &other);
  EXPECT_THAT(moves.Neighbours(Tiled()), AllOf(Contains(tiled), Contains(other)));
  EXPECT_THAT(moves.Neighbours(tiled), AllOf(Contains(Tiled()), Contains(other)));
  narrow.cuts[1].threads = 4;  // of 4 threads along j, all are in a tile
  EXPECT_THAT(moves.Neighbours(tiled), Contains(narrow));
  DeviceDescription without = Gpu();
  without.blocks.warp_size = 1;
  without.features = FeaturesOf(without);
  EXPECT_THAT(BlockMoves(matmul, without).Neighbours(Tiled()), Not(Contains(other)));
  std::set<std::string> texts;
  const std::vector<BlockDesign> all = moves.Neighbours(tiled);
  for (const BlockDesign& next : all) texts.insert(ToString(matmul, next));
  EXPECT_EQ(texts.size(), all.size());
}

TEST(BlockMovesTest, ChangeHowManyBlocksAreResidentIfAskedFor) {
  const Expression matmul = MatMul();
  BlockDesign two = Tiled(), three = Tiled(), none = Tiled(), one = Tiled();
  one.resident_blocks = 1;
  two.resident_blocks = 2;
  three.resident_blocks = 3;
  const BlockMoves moves(matmul, Gpu(), {.choices = true});
  EXPECT_THAT(moves.Neighbours(two), AllOf(Contains(one), Contains(three), Not(Contains(none))));
  EXPECT_THAT(moves.Neighbours(none), Contains(one));
  EXPECT_THAT(BlockMoves(matmul, Gpu()).Neighbours(none), Not(Contains(one)));
  const DeviceDescription opencl = GpuUnder(DeviceKind::kOpenCl);
  EXPECT_THAT(BlockMoves(matmul, opencl, {.choices = true}).Neighbours(none), Not(Contains(one)));
}

TEST(BlockMovesTest, GoToThreeTimesAPowerOfTwoThreadsAndBackIfAskedFor) {
  const Expression matmul = MatMul();
  BlockDesign few = Tiled(), between = Tiled(), many = Tiled();
  few.cuts[0].threads = 16;
  between.cuts[0].threads = 24;
  many.cuts[0].threads = 32;
  const BlockMoves moves(matmul, Gpu(), {.thirds = true});
  EXPECT_THAT(moves.Neighbours(few), AllOf(Contains(between), Contains(many)));
  EXPECT_THAT(moves.Neighbours(many), AllOf(Contains(between), Contains(few)));
  EXPECT_THAT(moves.Neighbours(between), AllOf(Contains(few), Contains(many)));
  EXPECT_THAT(BlockMoves(matmul, Gpu()).Neighbours(few),
              AllOf(Contains(many), Not(Contains(between))));
}

TEST(BlockMovesTest, ChangeHowBlocksCombine) {
  const Expression matmul = MatMul();
  BlockDesign partials = Tiled(), atomics = Tiled(), last = Tiled(), cluster = Tiled();
  atomics.combine_blocks = CombineBlocks::kAtomics;
  last.combine_blocks = CombineBlocks::kLastBlock;
  cluster.combine_blocks = CombineBlocks::kCluster;
  for (BlockDesign* design : {&partials, &atomics, &last, &cluster}) design->cuts[2].blocks = 8;
  EXPECT_EQ(ToString(matmul, last),
            "i 1x16x4 j 2x8x4 k 8/2x8 A chunk B chunk lanes j unrolled 1 last block");
  EXPECT_EQ(ToString(matmul, cluster),
            "i 1x16x4 j 2x8x4 k 8/2x8 A chunk B chunk lanes j unrolled 1 cluster");
  const BlockMoves moves(matmul, Gpu(), {.choices = true});
  EXPECT_THAT(moves.Neighbours(partials),
              AllOf(Contains(atomics), Contains(last), Contains(cluster)));
  EXPECT_THAT(moves.Neighbours(cluster), AllOf(Contains(atomics), Contains(partials)));
  EXPECT_THAT(BlockMoves(matmul, Gpu()).Neighbours(partials),
              AllOf(Contains(atomics), Not(Contains(last)), Not(Contains(cluster))));
  // More blocks than a cluster has.
  partials.cuts[2].blocks = cluster.cuts[2].blocks = last.cuts[2].blocks = 16;
  EXPECT_THAT(moves.Neighbours(partials), AllOf(Contains(last), Not(Contains(cluster))));
}

TEST(BlockMovesTest, ChangeWhichLaunchesBeginEarlyIfAskedFor) {
  const Expression matmul = MatMul();
  BlockDesign stages = Tiled(), calls = Tiled(), none = Tiled();
  calls.early_launches = EarlyLaunches::kCalls;
  none.early_launches = EarlyLaunches::kNone;
  const BlockMoves moves(matmul, Gpu(), {.choices = true});
  // There is one stage: nothing is beside it in its own call.
  EXPECT_THAT(moves.Neighbours(stages), AllOf(Contains(calls), Not(Contains(none))));
  for (BlockDesign* design : {&stages, &calls, &none}) design->cuts[2].blocks = 4;
  EXPECT_THAT(moves.Neighbours(stages), AllOf(Contains(calls), Contains(none)));
  EXPECT_THAT(moves.Neighbours(none), AllOf(Contains(calls), Contains(stages)));
  EXPECT_THAT(BlockMoves(matmul, Gpu()).Neighbours(stages), Not(Contains(calls)));
  const DeviceDescription opencl = GpuUnder(DeviceKind::kOpenCl);
  EXPECT_THAT(BlockMoves(matmul, opencl, {.choices = true}).Neighbours(stages),
              Not(Contains(calls)));
}

TEST(BlockMovesTest, SplitReductionsSoThatWavesAreFull) {
  const auto matmul = [](const char* i) {
    return Shipped("matmul.mdh", {{"I", i}, {"J", "253"}, {"K", "1811"}});
  };
  const Expression few = matmul("5249"), many = matmul("90000");
  BlockDesign two = Tiled(), three = Tiled(), four = Tiled(), five = Tiled();
  // 83 x 2 blocks for each part: 3.77 waves for three of them, 2.5 for two, 5.03 for four.
  for (BlockDesign* design : {&two, &three, &four, &five}) design->cuts[1].threads = 16;
  two.cuts[2].blocks = 2;
  three.cuts[2].blocks = 3;
  four.cuts[2].blocks = 4;
  five.cuts[2].blocks = 5;
  const BlockMoveOptions options = {.full_waves = true};
  const BlockMoves moves(few, Gpu(), options);
  EXPECT_THAT(moves.Neighbours(two), AllOf(Contains(three), Contains(four)));
  EXPECT_THAT(moves.Neighbours(three), AllOf(Contains(two), Contains(four), Not(Contains(five))));
  EXPECT_THAT(moves.Neighbours(four), Contains(three));
  EXPECT_THAT(BlockMoves(few, Gpu()).Neighbours(two), Not(Contains(three)));
  EXPECT_THAT(BlockMoves(many, Gpu(), options).Neighbours(two), Not(Contains(three)));
  const std::vector<BlockDesign> all = moves.Neighbours(three);
  std::set<std::string> texts;
  for (const BlockDesign& next : all) texts.insert(ToString(few, next));
  EXPECT_EQ(texts.size(), all.size());
}

TEST(BlockMovesTest, TilesThatFitASize) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "165"}, {"J", "88000"}, {"K", "547"}});
  BlockDesign design = Tiled();
  design.cuts[0] = {.threads = 16, .vector = 8};  // two tiles of 128 rows
  BlockDesign two = design, seven = design, one = design, apart = design;
  two.cuts[0] = {.threads = 12, .vector = 7};    // of 84
  seven.cuts[0] = {.threads = 24, .vector = 7};  // one of 168
  one.cuts[0] = {.threads = 17, .vector = 10};
  apart.cuts[0] = {.threads = 16, .vector = 4, .strided = 2};
  BlockDesign more = apart;
  more.cuts[0] = {.threads = 14, .vector = 4, .strided = 3};  // one of 168
  const BlockMoves moves(matmul, Gpu(), {.thirds = true, .full_waves = true, .fits = true});
  EXPECT_THAT(moves.Neighbours(design), AllOf(Contains(two), Contains(seven), Contains(one)));
  EXPECT_THAT(moves.Neighbours(apart), Contains(more));
  EXPECT_THAT(BlockMoves(matmul, Gpu(), {.thirds = true}).Neighbours(design), Not(Contains(two)));
  // One tile instead of two leaves a multiprocessor of few blocks more to do.
  const Expression few = Shipped("matmul.mdh", {{"I", "165"}, {"J", "880"}, {"K", "547"}});
  EXPECT_THAT(BlockMoves(few, Gpu(), {.fits = true}).Neighbours(design),
              AllOf(Contains(two), Not(Contains(seven))));
  std::vector<BlockDesign> fits;
  moves.VisitFits(design, [&](const BlockDesign& next) {
    fits.push_back(next);
    return true;
  });
  EXPECT_THAT(fits, Contains(two));
  for (const BlockDesign& from : {design, apart, two}) {
    const std::vector<BlockDesign> all = moves.Neighbours(from);
    std::set<std::string> texts;
    for (const BlockDesign& next : all) texts.insert(ToString(matmul, next));
    EXPECT_EQ(texts.size(), all.size());
    EXPECT_FALSE(texts.contains(ToString(matmul, from)));
  }
}

TEST(BlockMovesTest, TilesThatFillWaves) {
  // 5249 rows among 132 multiprocessors: 40 of each.
  const Expression matmul = Shipped("matmul.mdh", {{"I", "5249"}, {"J", "253"}, {"K", "1811"}});
  BlockDesign design = Tiled();
  design.cuts[0] = {.threads = 8, .vector = 4};
  design.cuts[1] = {.threads = 32, .vector = 4, .strided = 2};
  BlockDesign wave = design;
  wave.cuts[0].threads = 10;
  EXPECT_THAT(BlockMoves(matmul, Gpu(), {.fits = true}).Neighbours(design), Contains(wave));
}

TEST(BlockMovesTest, CopiesOverlapWhereSomeAreAsynchronous) {
  const Expression matmul = MatMul();
  const BlockMoves moves(matmul, Gpu(), {.choices = true});
  BlockDesign design = Tiled(), copies = Tiled();
  copies.copy_overlap = CopyOverlap::kCopies;
  EXPECT_THAT(moves.Neighbours(design), Not(Contains(copies)));
  design.copies.assign(2, Copy::kChunk);
  design.async_stages = {3, 3};
  copies = design;
  copies.copy_overlap = CopyOverlap::kCopies;
  BlockDesign values = design;
  values.copy_overlap = CopyOverlap::kValues;
  EXPECT_THAT(moves.Neighbours(design), AllOf(Contains(copies), Contains(values)));
}

}  // namespace
}  // namespace mdh::block_moves_test

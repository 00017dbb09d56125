// Designs for devices with blocks of threads: what they mean, what they are held to cost, how they
// change, and which ones rules choose.
#include "codegen/choose/block_design.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "codegen/choose/block_candidates.h"
#include "codegen/choose/block_cost.h"
#include "codegen/choose/block_moves.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/lower/finish/combine_slots.h"
#include "core/decomposition/nest_shape.h"
#include "tests/shipped_expression.h"

namespace mdh::block_design_test {
namespace {

using Copy = BlockDesign::Copy;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

DeviceDescription Gpu() { return *DescribeCudaArchitecture(90); }

DeviceDescription GpuUnder(DeviceKind kind) {
  DeviceDescription device = Gpu();
  device.kind = kind;
  device.features = FeaturesOf(device);
  return device;
}

Expression MatMul() { return Shipped("matmul.mdh", {{"I", "256"}, {"J", "256"}, {"K", "256"}}); }

// Blocks of 64 x 64 results, 4 x 8 of them per thread, 16 points of the reduction at a time, which
// two groups of threads share.
BlockDesign Tiled() {
  BlockDesign design;
  design.cuts = {{.threads = 16, .vector = 4},
                 {.threads = 8, .vector = 4, .strided = 2},
                 {.threads = 2, .vector = 8}};
  design.copies = {Copy::kChunk, Copy::kChunk};
  design.lane_dimension = 1;
  design.unrolled = 1;
  return design;
}

TEST(BlockDesignTest, Prints) {
  EXPECT_EQ(ToString(MatMul(), Tiled()),
            "i 1x16x4 j 2x8x4 k 1/2x8 A chunk B chunk lanes j unrolled 1");
}

// Measured on an H200: 7.1 and 6.1 microseconds. By shuffles one thread of four gets all 64
// results, through shared memory every one gets 16.
TEST(BlockDesignTest, WarpsAlongAReductionAreCheaperThanItsLanes) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "16"}, {"J", "1000"}, {"K", "2048"}});
  BlockDesign design;
  design.cuts = {
      {.strided = 16}, {.threads = 32, .vector = 4}, {.threads = 4, .vector = 16, .blocks = 32}};
  design.copies = {Copy::kChunk, Copy::kNone};
  design.unrolled = 1;
  design.combine_blocks = CombineBlocks::kAtomics;
  const BlockCostModel model(matmul, Gpu());
  design.lane_dimension = 2;
  const double by_shuffles = model.Estimate(design).total;
  design.lane_dimension = 1;
  EXPECT_LT(model.Estimate(design).total, by_shuffles);
}

TEST(BlockDesignTest, BecomesParameters) {
  const Expression matmul = MatMul();
  const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), Tiled());
  EXPECT_EQ(p.tile, (std::vector<std::vector<int64_t>>{
                        {64, 64, 256}, {64, 32, 16}, {4, 4, 8}, {1, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(p.unroll, 4 * 8 * 8);
  EXPECT_TRUE(Validate(matmul, CudaModel(), Gpu(), p).ok());
  const SystemModel model = CudaModel();
  const NestShape shape(matmul, model, p);
  EXPECT_THAT(shape.Block(), ElementsAre(8, 16, 2));
  EXPECT_THAT(shape.Grid(), ElementsAre(4, 4, 1));
  // A's rows are read four at a time, so they are neighbours in the copy; B's are already.
  EXPECT_THAT(p.inputs[0].memory.layouts[3][0], ElementsAre(1, 0));
  EXPECT_TRUE(p.inputs[1].memory.layouts.empty());
  for (const InputParameters& input : p.inputs) {
    EXPECT_EQ(input.copy_width, 4);
    EXPECT_EQ(input.copy_stages, 2);
  }
}

TEST(BlockDesignTest, CopiesCanBeAsynchronous) {
  const Expression matmul = MatMul();
  BlockDesign design = Tiled();
  design.async_stages = {2, 3};
  EXPECT_EQ(ToString(matmul, design),
            "i 1x16x4 j 2x8x4 k 1/2x8 A chunk async 2 B chunk async 3 lanes j unrolled 1");
  TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), design);
  EXPECT_TRUE(Validate(matmul, CudaModel(), Gpu(), p).ok());
  EXPECT_EQ(p.inputs[0].copy_mode, CopyMode::kAsynchronous);
  EXPECT_EQ(p.inputs[0].copy_width, 1);  // transposed
  EXPECT_EQ(p.inputs[0].copy_stages, 2);
  EXPECT_EQ(p.inputs[1].copy_mode, CopyMode::kAsynchronous);
  EXPECT_EQ(p.inputs[1].copy_width, 4);
  EXPECT_EQ(p.inputs[1].copy_stages, 3);
  // Only where a loop is around the copy.
  design.cuts[2] = {.threads = 2, .vector = 128};
  p = ToParameters(matmul, CudaModel(), Gpu(), design);
  EXPECT_EQ(p.inputs[1].copy_mode, CopyMode::kThroughRegisters);
  EXPECT_EQ(p.inputs[1].copy_stages, 1);
}

TEST(BlockDesignTest, AsynchronousCopiesAreAsWideAsTheyCanBe) {
  EXPECT_EQ(AsyncWidth(4, 64), 4);
  EXPECT_EQ(AsyncWidth(2, 64), 8);
  EXPECT_EQ(AsyncWidth(8, 64), 2);
  EXPECT_EQ(AsyncWidth(4, 6), 2);
  EXPECT_EQ(AsyncWidth(4, 7), 1);
}

TEST(BlockDesignTest, TilesOfABlockAreALoopAroundItsResults) {
  const Expression matmul = MatMul();
  BlockDesign design = Tiled();
  design.cuts[0].loops = 2;
  design.copies = {Copy::kTile, Copy::kBlock};
  design.cuts[2] = {.threads = 1, .vector = 16};
  const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), design);
  const Status status = Validate(matmul, CudaModel(), Gpu(), p);
  ASSERT_TRUE(status.ok()) << status;
  const SystemModel model = CudaModel();
  const NestShape shape(matmul, model, p);
  EXPECT_EQ(shape.Grid()[0] * shape.Grid()[1], 2 * 4);
  EXPECT_LT(shape.CopyPlaces(1)[0], shape.CopyPlaces(0)[0]);  // B once, A for every tile
}

TEST(BlockDesignTest, NeighboursInDeviceMemoryAreLoadedTogether) {
  const Expression matvec = Shipped("matvec.mdh");
  BlockDesign design;
  design.cuts = {{.threads = 1}, {.threads = 64, .vector = 4}};
  design.copies = {Copy::kNone, Copy::kNone};
  design.lane_dimension = 1;
  EXPECT_EQ(DesignInput(matvec, design, 0).vector, 1);  // the loop stays a loop
  design.unrolled = 1;
  EXPECT_EQ(DesignInput(matvec, design, 0).vector, 4);
  const TuningParameters p = ToParameters(matvec, CudaModel(), Gpu(), design);
  EXPECT_TRUE(Validate(matvec, CudaModel(), Gpu(), p).ok());
  EXPECT_EQ(p.inputs[0].memory.regions[3][1], 2);
}

// 16 blocks share the reduction, and 4 groups of threads in each.
BlockDesign Skinny() {
  BlockDesign design;
  design.cuts = {{.vector = 16}, {.threads = 32, .vector = 4}, {.threads = 4, .vector = 8}};
  design.cuts[2].blocks = 16;
  design.copies = {Copy::kNone, Copy::kNone};
  design.lane_dimension = 1;
  design.combine_blocks = CombineBlocks::kAtomics;
  return design;
}

Expression SkinnyMatMul() {
  return Shipped("matmul.mdh", {{"I", "16"}, {"J", "1000"}, {"K", "2048"}});
}

TEST(BlockDesignTest, BlocksThatShareAReductionMayCombineByAtomics) {
  const Expression matmul = SkinnyMatMul();
  BlockDesign design = Skinny();
  EXPECT_EQ(ToString(matmul, design),
            "i 1x1x16 j 1x32x4 k 16/4x8 A direct B direct lanes j unrolled 0 atomics");
  const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), design);
  EXPECT_EQ(p.combine_blocks, CombineBlocks::kAtomics);
  EXPECT_TRUE(Validate(matmul, CudaModel(), Gpu(), p).ok());
  design.cuts[2].blocks = 1;  // nothing to combine
  EXPECT_EQ(ToString(matmul, design),
            "i 1x1x16 j 1x32x4 k 1/4x8 A direct B direct lanes j unrolled 0");
  EXPECT_EQ(ToParameters(matmul, CudaModel(), Gpu(), design).combine_blocks,
            CombineBlocks::kPartials);
}

TEST(BlockDesignTest, SaysWhichLaunchesBeginEarly) {
  const Expression matmul = MatMul();
  BlockDesign design = Tiled();
  const std::string text = "i 1x16x4 j 2x8x4 k 1/2x8 A chunk B chunk lanes j unrolled 1";
  for (const auto& [early, name] : {std::pair(EarlyLaunches::kStages, ""),
                                    {EarlyLaunches::kCalls, " early calls"},
                                    {EarlyLaunches::kNone, " early none"}}) {
    design.early_launches = early;
    EXPECT_EQ(ToString(matmul, design), text + name);
    const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), design);
    EXPECT_EQ(p.early_launches, early);
    EXPECT_TRUE(Validate(matmul, CudaModel(), Gpu(), p).ok());
  }
}

TEST(BlockDesignTest, SaysHowManyBlocksAreResident) {
  const Expression matmul = MatMul();
  BlockDesign design = Tiled();
  design.resident_blocks = 2;
  EXPECT_EQ(ToString(matmul, design),
            "i 1x16x4 j 2x8x4 k 1/2x8 A chunk B chunk lanes j unrolled 1 resident 2");
  const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), design);
  EXPECT_EQ(p.resident_blocks, 2);
  EXPECT_TRUE(Validate(matmul, CudaModel(), Gpu(), p).ok());
}

TEST(BlockDesignTest, ThreadsCanBeInTilesOfLanes) {
  const Expression matmul = MatMul();
  BlockDesign design = Tiled();  // 8 threads along j, 16 along i
  SetLaneTile(matmul, 2, 4, &design);
  EXPECT_THAT(design.lane_tile, ElementsAre(4, 2, 1));
  EXPECT_EQ(ToString(matmul, design),
            "i 1x16x4 j 2x8x4 k 1/2x8 A chunk B chunk lanes j 2x4 unrolled 1");
  const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), design);
  EXPECT_THAT(p.lanes, ElementsAre(2, 4, 1));
  EXPECT_TRUE(Validate(matmul, CudaModel(), Gpu(), p).ok());
}

TEST(BlockDesignTest, TilesOfLanesSaySomethingOrAreNone) {
  const Expression matmul = MatMul();
  BlockDesign design = Tiled();
  for (const auto& [x, y] : {std::pair(8, 4), {2, 1}, {3, 2}, {2, 32}}) {
    SetLaneTile(matmul, x, y, &design);
    EXPECT_TRUE(design.lane_tile.empty()) << x << "x" << y;
  }
  design.cuts[0].threads = 1;  // the other threads are along the reduction
  SetLaneTile(matmul, 2, 2, &design);
  EXPECT_TRUE(design.lane_tile.empty());
}

// ---- The cost model ----

TEST(BlockCostTest, CountsThreadsAndSharedMemoryAsTheyAre) {
  const Expression matmul = MatMul();
  BlockDesign design = Tiled();
  design.cuts[2] = {.threads = 1, .vector = 16};
  const BlockCost cost = BlockCostModel(matmul, Gpu()).Estimate(design);
  const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), design);
  const SystemModel model = CudaModel();
  const NestShape shape(matmul, model, p);
  ASSERT_TRUE(cost.fits);
  EXPECT_EQ(cost.threads, static_cast<double>(shape.ThreadsPerBlock()));
  EXPECT_EQ(cost.shared_bytes, static_cast<double>(shape.SharedBytes()));
}

TEST(BlockCostTest, AsynchronousCopiesTakeSharedMemoryForRegisters) {
  const Expression matmul = MatMul();
  BlockDesign design = Tiled();
  design.cuts[2] = {.threads = 1, .vector = 16};
  const BlockCostModel costs(matmul, Gpu());
  const BlockCost through_registers = costs.Estimate(design);
  for (const int stages : {2, 3, 4}) {
    design.async_stages = {0, stages};
    const BlockCost cost = costs.Estimate(design);
    const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), design);
    const SystemModel model = CudaModel();
    EXPECT_EQ(cost.shared_bytes, static_cast<double>(NestShape(matmul, model, p).SharedBytes()));
    EXPECT_LT(cost.registers, through_registers.registers);
    EXPECT_LT(cost.issue, through_registers.issue);
  }
  // The operand that is transposed is better moved four elements at once.
  design.async_stages = {2, 0};
  EXPECT_GT(costs.Estimate(design).issue, through_registers.issue);
  design.async_stages = {4, 4};
  const double latency = costs.Estimate(design).latency;
  design.async_stages = {2, 2};
  EXPECT_LE(latency, costs.Estimate(design).latency);
}

TEST(BlockCostTest, PrefersWhatIsKnownToBeFaster) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  const BlockCostModel model(matmul, Gpu());
  const double tiled = model.Estimate(Tiled()).total;
  BlockDesign naive;
  naive.cuts = {{.threads = 8}, {.threads = 32}, {.vector = 1}};
  naive.copies = {Copy::kNone, Copy::kNone};
  naive.lane_dimension = 1;
  EXPECT_GT(model.Estimate(naive).total, 2 * tiled);
  BlockDesign strided = naive;
  strided.lane_dimension = 0;  // neighbouring threads read and write different lines
  EXPECT_GT(model.Estimate(strided).total, model.Estimate(naive).total);
}

// Where inputs are read in place, a warp over several rows touches several lines.
TEST(BlockCostTest, CountsWhatTheLanesOfAWarpTouch) {
  const Expression matmul = MatMul();
  const BlockCostModel model(matmul, Gpu());
  BlockDesign design;
  design.cuts = {{.threads = 8}, {.threads = 32}, {.vector = 1}};
  design.copies = {Copy::kNone, Copy::kNone};
  design.lane_dimension = 1;
  BlockDesign tiled = design;
  SetLaneTile(matmul, 8, 4, &tiled);
  EXPECT_GT(model.Estimate(tiled).local, model.Estimate(design).local);
  // Columns of A: a line for every row of a tile.
  design.lane_dimension = 0;
  design.cuts[0].threads = 32;
  tiled = design;
  SetLaneTile(matmul, 4, 8, &tiled);
  EXPECT_LT(model.Estimate(tiled).local, model.Estimate(design).local);
}

double CostOf(const Expression& expression, BlockDesign design, CombineBlocks how) {
  design.combine_blocks = how;
  return BlockCostModel(expression, Gpu()).Estimate(design).total;
}

TEST(BlockCostTest, AtomicsPayForFewResults) {
  const Expression small = SkinnyMatMul();
  EXPECT_LT(CostOf(small, Skinny(), CombineBlocks::kAtomics),
            CostOf(small, Skinny(), CombineBlocks::kPartials));
  BlockDesign alone = Skinny();
  alone.cuts[2].blocks = 1;
  EXPECT_EQ(CostOf(small, alone, CombineBlocks::kAtomics),
            CostOf(small, alone, CombineBlocks::kPartials));
  // Much that is added to costs more than another launch.
  const Expression large = Shipped("matmul.mdh", {{"I", "8192"}, {"J", "8192"}, {"K", "64"}});
  BlockDesign split = Skinny();
  split.cuts[1] = {.threads = 32, .strided = 4};
  split.cuts[2] = {.blocks = 2};
  EXPECT_GT(CostOf(large, split, CombineBlocks::kAtomics),
            CostOf(large, split, CombineBlocks::kPartials));
}

// Where 65536 blocks add to one result, each waits for the others.
TEST(BlockCostTest, AdditionsToOneResultAreOneAfterTheOther) {
  const Expression dot = Shipped("dot.mdh", {{"K", "16777216"}});
  BlockDesign design;
  design.cuts = {{.threads = 128, .vector = 2, .blocks = 65536}};
  design.copies = {Copy::kNone, Copy::kNone};
  design.combine_blocks = CombineBlocks::kAtomics;
  EXPECT_GE(BlockCostModel(dot, Gpu()).Estimate(design).level2, 2 * 65536);
}

TEST(BlockCostTest, NeighboursThatAreAddedAtOnceAreLessTraffic) {
  const Expression odd = Shipped("matmul.mdh", {{"I", "16"}, {"J", "1001"}, {"K", "2048"}});
  EXPECT_GT(BlockCostModel(odd, Gpu()).Estimate(Skinny()).level2,
            1.3 * BlockCostModel(SkinnyMatMul(), Gpu()).Estimate(Skinny()).level2);
}

// What the compiler does with fewer registers is not known, but for too few.
TEST(BlockCostTest, ResidentBlocksNeedRegisters) {
  const Expression matmul = MatMul();
  const BlockCostModel model(matmul, Gpu());
  BlockDesign design = Tiled();
  const BlockCost free = model.Estimate(design);
  ASSERT_GT(free.registers, 64);
  design.resident_blocks = 2;  // 128 registers a thread
  EXPECT_EQ(model.Estimate(design).total, free.total);
  design.resident_blocks = 8;  // 32
  EXPECT_FALSE(model.Estimate(design).fits);
}

TEST(BlockCostTest, SaysWhatDoesNotFit) {
  BlockDesign design = Tiled();
  design.cuts[0].vector = 16;
  design.cuts[1].vector = 16;
  const BlockCost cost = BlockCostModel(MatMul(), Gpu()).Estimate(design);
  EXPECT_FALSE(cost.fits);
  EXPECT_THAT(ToString(cost), ::testing::StartsWith("does not fit: "));
}

// ---- Moves ----

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
  const BlockMoves moves(matmul, Gpu(), {.async_copies = true, .lane_tiles = true});
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
    return BlockMoves(matmul, device, {.async_copies = true}).Neighbours(of);
  };
  EXPECT_THAT(neighbours(Gpu(), design), Contains(asynchronous));
  EXPECT_THAT(BlockMoves(matmul, Gpu()).Neighbours(design), Not(Contains(asynchronous)));
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

// ---- Candidates ----

TEST(BlockCandidatesTest, EvaluationsAreThoseOfAllClimbsTogether) {
  const Expression matmul = MatMul();
  const auto best = [&](int evaluations_in_all) {
    const std::vector<BlockCandidate> candidates =
        BlockCandidates(matmul, CudaModel(), Gpu(), {.evaluations_in_all = evaluations_in_all});
    return candidates.empty() ? BlockDesign() : candidates.front().design;
  };
  const BlockDesign unlimited = BlockCandidates(matmul, CudaModel(), Gpu(), {}).front().design;
  EXPECT_EQ(best(4200), unlimited);
  EXPECT_NE(best(10), unlimited);
  // The first one, a line of threads along the results, fits every device.
  EXPECT_EQ(ToString(matmul, best(1)),
            "i 1x1x1 j 1x64x1 k 1/1x1 A direct B direct lanes j unrolled 1");
}

TEST(BlockCandidatesTest, SomeAreWithAsynchronousCopies) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  const auto count = [&](const DeviceDescription& device, const BlockCandidateOptions& options) {
    const std::vector<BlockCandidate> candidates = BlockCandidates(
        matmul, *SystemModelNamed(device.kind == DeviceKind::kCuda ? "CUDA" : "OpenCL"), device,
        options);
    return std::count_if(candidates.begin(), candidates.end(), [](const BlockCandidate& c) {
      return ToText(c.parameters).find(":async") != std::string::npos;
    });
  };
  const auto with = count(Gpu(), {.count = 40, .async_copies = true});
  EXPECT_GT(with, 0);
  EXPECT_LT(with, 40);
  EXPECT_EQ(count(Gpu(), {.count = 40}), 0);
  const DeviceDescription opencl = GpuUnder(DeviceKind::kOpenCl);
  EXPECT_EQ(count(opencl, {.count = 40, .async_copies = true}), 0);
}

TEST(BlockCandidatesTest, AreValidDifferentAndOrderedForAllShippedExpressions) {
  const std::string folder = std::string(MDH_SOURCE_DIR) + "/client/expressions";
  int with_candidates = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".mdh") continue;
    const Expression expression = Shipped(entry.path().filename());
    const std::vector<BlockCandidate> candidates = BlockCandidates(
        expression, CudaModel(), Gpu(), {.count = 5, .evaluations = 300, .async_copies = true});
    EXPECT_EQ(candidates.empty(), expression.has_prefix_sum()) << entry.path();
    with_candidates += candidates.empty() ? 0 : 1;
    std::set<std::string> texts;
    double last = 0;
    for (const BlockCandidate& candidate : candidates) {
      const Status status = Validate(expression, CudaModel(), Gpu(), candidate.parameters);
      EXPECT_TRUE(status.ok()) << entry.path() << ": " << status;
      EXPECT_TRUE(texts.insert(ToText(candidate.parameters)).second);
      EXPECT_GE(candidate.cost.total, last);
      last = candidate.cost.total;
    }
  }
  EXPECT_GT(with_candidates, 30);
}

TEST(BlockCandidatesTest, TheFirstOneIsTheDefault) {
  const Expression matmul = MatMul();
  for (const SystemModel& model : {CudaModel(), OpenClModel()}) {
    const DeviceDescription device = GpuUnder(model.kind);
    const std::vector<BlockCandidate> candidates = BlockCandidates(matmul, model, device, {});
    ASSERT_EQ(candidates.size(), 1u);
    EXPECT_EQ(DefaultParameters(matmul, model, device), candidates[0].parameters);
  }
}

// Few results of a long reduction: the first candidate has blocks that add to them.
TEST(BlockCandidatesTest, BlocksCombineByAtomicsWhereTheModelSaysSo) {
  const Expression matmul = SkinnyMatMul();
  const std::vector<BlockCandidate> candidates =
      BlockCandidates(matmul, CudaModel(), Gpu(), {.count = 10});
  ASSERT_FALSE(candidates.empty());
  EXPECT_EQ(candidates[0].parameters.combine_blocks, CombineBlocks::kAtomics)
      << ToString(matmul, candidates[0].design);
  const DeviceDescription opencl = GpuUnder(DeviceKind::kOpenCl);
  for (const BlockCandidate& c : BlockCandidates(matmul, OpenClModel(), opencl, {.count = 10})) {
    EXPECT_EQ(c.parameters.combine_blocks, CombineBlocks::kPartials);
  }
}

TEST(BlockCandidatesTest, ThereAreNoneForDevicesThatTheModelDoesNotKnow) {
  DeviceDescription device = Gpu();
  EXPECT_TRUE(BlockCandidates(MatMul(), CudaWarpModel(), device, {}).empty());
  device.blocks.warp_size = 1;
  device.features = FeaturesOf(device);
  EXPECT_TRUE(BlockCandidates(MatMul(), CudaModel(), device, {}).empty());
}

// ---- Combining partial results ----

TEST(ShareSlotsTest, CoversAllSlotsWithoutAnEmptyShare) {
  for (const int64_t results : {1, 3, 31, 1000, 65536, 1 << 24}) {
    for (const int64_t slots : {2, 3, 7, 64, 1000, 65536}) {
      const SlotShares shares = ShareSlots(results, slots);
      EXPECT_GE(shares.shares * shares.slots, slots);
      EXPECT_LT((shares.shares - 1) * shares.slots, slots);
      EXPECT_LE(shares.items * shares.shares, 256);
      EXPECT_GE(shares.items, 1);
    }
  }
}

TEST(ShareSlotsTest, FewResultsGetManyThreads) {
  EXPECT_EQ(ShareSlots(1, 256).shares, 256);
  EXPECT_EQ(ShareSlots(1 << 20, 256).shares, 1);
}

}  // namespace
}  // namespace mdh::block_design_test

// Designs for devices with blocks of threads: what they mean, and what they are held to cost.
#include "codegen/choose/block_design.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/choose/block_cost.h"
#include "codegen/lower/finish/combine_slots.h"
#include "core/decomposition/nest_shape.h"
#include "core/text/parser.h"
#include "tests/codegen/choose/sample_designs.h"

namespace mdh::block_design_test {
namespace {

using Copy = BlockDesign::Copy;
using ::testing::ElementsAre;

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

// 8 x 8 x 8 threads with 8 rows of A each, which are as far apart as there are threads.
BlockDesign WithRows() {
  BlockDesign design;
  design.cuts = {{.threads = 8, .strided = 8},
                 {.threads = 8, .vector = 2, .strided = 4},
                 {.threads = 8, .vector = 8}};
  design.copies = {Copy::kChunk, Copy::kChunk};
  design.async_stages = {2, 2};
  design.lane_dimension = 1;
  design.unrolled = 1;
  return design;
}

// A is copied as it is in memory, 16 bytes at a time where its rows are multiples of that, and read
// along the reduction. Its rows are padded so that threads that read several meet in no bank.
TEST(BlockDesignTest, RowsThatAreReadAlongAReductionStayAsTheyAre) {
  const Expression matmul = MatMul();
  const TuningParameters p = ToParameters(matmul, CudaModel(), Gpu(), WithRows());
  EXPECT_EQ(Validate(matmul, CudaModel(), Gpu(), p), absl::OkStatus());
  EXPECT_TRUE(p.inputs[0].memory.layouts.empty());
  EXPECT_EQ(p.inputs[0].padding, 4);
  EXPECT_EQ(p.inputs[0].copy_width, 4);
  EXPECT_EQ(p.inputs[1].padding, 0);
  const DesignedInput a = DesignInput(matmul, WithRows(), 0);
  EXPECT_TRUE(a.is_along_reduction);
  EXPECT_EQ(a.vector, 4);
  const Expression halves =
      Shipped("matmul.mdh", {{"T", "fp16"}, {"I", "256"}, {"J", "256"}, {"K", "256"}});
  const TuningParameters of_halves = ToParameters(halves, CudaModel(), Gpu(), WithRows());
  EXPECT_EQ(of_halves.inputs[0].padding, 8);
  EXPECT_EQ(of_halves.inputs[0].copy_width, 8);
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

// 3 x 3 windows of images, by what the view says of them.
Expression Convolution(const std::string& image) {
  const Result<Expression> parsed = ParseExpression(
      "w := out_view<fp32>( y: (p,q,k,r,s,c) -> (p,q,k) ) o\n"
      "  md_hom<32,32,64,3,3,64>( f, (++, ++, ++, +, +, +) ) o\n"
      "  inp_view<fp32,fp32>( x" +
      image +
      ", w: (p,q,k,r,s,c) -> (r,s,c,k) )\n"
      "where f(x, w) -> y { y = x * w }\n");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *parsed;
}

Expression Padded(const std::string& border) {
  return Convolution("[32,32,64] else " + border + ": (p,q,k,r,s,c) -> (p + r - 1, q + s - 1, c)");
}

BlockDesign WithWindows(Copy copy) {
  BlockDesign design;
  design.cuts = {{.threads = 4, .vector = 2},
                 {.threads = 4, .vector = 2},
                 {.threads = 16, .vector = 4},
                 {.vector = 3},
                 {.vector = 3},
                 {.vector = 4}};
  design.copies = {copy, Copy::kChunk};
  design.lane_dimension = 2;
  design.unrolled = 3;
  return design;
}

// Rows that exist as a whole or not at all are moved as others are; zeros outside of them as well
// by asynchronous copies.
TEST(BlockDesignTest, BuffersWithBordersAreCopiedAsOthers) {
  BlockDesign design = WithWindows(Copy::kChunk);
  for (const char* border : {"0", "1", "clamp"}) {
    const Expression convolution = Padded(border);
    const TuningParameters p = ToParameters(convolution, CudaModel(), Gpu(), design);
    EXPECT_EQ(Validate(convolution, CudaModel(), Gpu(), p), absl::OkStatus());
    EXPECT_EQ(p.inputs[0].copy_width, 4) << border;
    EXPECT_EQ(p.inputs[0].copy_stages, 2) << border;
    EXPECT_EQ(DesignInput(convolution, design, 0).vector, 4);
    EXPECT_EQ(DesignInput(convolution, WithWindows(Copy::kNone), 0).vector, 4);
  }
  design.async_stages = {3, 3};
  const TuningParameters p = ToParameters(Padded("0"), CudaModel(), Gpu(), design);
  EXPECT_EQ(Validate(Padded("0"), CudaModel(), Gpu(), p), absl::OkStatus());
  EXPECT_EQ(p.inputs[0].copy_mode, CopyMode::kAsynchronous);
  EXPECT_EQ(p.inputs[0].copy_width, 4);
  EXPECT_TRUE(BlockCostModel(Padded("0"), Gpu()).Estimate(design).fits);
  EXPECT_FALSE(BlockCostModel(Padded("1"), Gpu()).Estimate(design).fits);
}

TEST(BlockDesignTest, RowsWithBordersAreCopiedElementByElement) {
  const Expression convolution =
      Convolution("[64,32,32] else 0: (p,q,k,r,s,c) -> (c, p + r - 1, q + s - 1)");
  for (const Copy copy : {Copy::kChunk, Copy::kNone}) {
    const BlockDesign design = WithWindows(copy);
    const TuningParameters p = ToParameters(convolution, CudaModel(), Gpu(), design);
    EXPECT_EQ(Validate(convolution, CudaModel(), Gpu(), p), absl::OkStatus());
    EXPECT_EQ(p.inputs[0].copy_width, 1);
    EXPECT_EQ(DesignInput(convolution, design, 0).vector, 1);
  }
}

TEST(BlockCostTest, BordersTakeInstructions) {
  const Expression without = Convolution(": (p,q,k,r,s,c) -> (p + r, q + s, c)");
  for (const Copy copy : {Copy::kChunk, Copy::kNone}) {
    const BlockDesign design = WithWindows(copy);
    EXPECT_LT(BlockCostModel(without, Gpu()).Estimate(design).issue,
              BlockCostModel(Padded("0"), Gpu()).Estimate(design).issue);
  }
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

TEST(BlockCostTest, RowsThatAreCopiedWholeAreMovedAsOne) {
  const auto issue = [](const char* rows, const char* columns) {
    const Expression matmul = Shipped("matmul.mdh", {{"I", rows}, {"J", columns}, {"K", "4096"}});
    BlockDesign design;
    design.cuts = {{.threads = 8, .vector = 8}, {.threads = 23}, {.vector = 16}};
    design.copies = {Copy::kNone, Copy::kChunk};
    design.lane_dimension = 1;
    design.unrolled = 1;
    return BlockCostModel(matmul, Gpu()).Estimate(design).issue;
  };
  EXPECT_LT(issue("8448", "23"), issue("4224", "46")) << "as many blocks";
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

// Measured on an H100, 30.6 and 52.5 microseconds: results whose rows are odd are added to memory
// one by one, while nothing else is left to do.
TEST(BlockCostTest, OddRowsAreNotSharedByManyBlocks) {
  const Expression odd = Shipped("matmul.mdh", {{"I", "1021"}, {"J", "509"}, {"K", "773"}});
  const BlockCostModel model(odd, Gpu());
  BlockDesign split;
  split.cuts = {{.threads = 16, .vector = 8},
                {.threads = 16, .vector = 2, .strided = 4},
                {.threads = 2, .vector = 4, .blocks = 4}};
  split.copies = {Copy::kTile, Copy::kChunk};
  split.async_stages = {0, 4};
  split.lane_dimension = 1;
  split.unrolled = 1;
  split.combine_blocks = CombineBlocks::kAtomics;
  EXPECT_LT(model.Estimate(WithRows()).total, model.Estimate(split).total);
}

// Measured on an H100, 30.6 and 47.8 microseconds: warps that wait for the same copies also wait at
// the same time for what they load themselves, and loads of odd rows are of single elements.
TEST(BlockCostTest, WarpsThatAreKeptTogetherDoNotHideTheirLoads) {
  const Expression odd = Shipped("matmul.mdh", {{"I", "1021"}, {"J", "509"}, {"K", "773"}});
  BlockDesign direct;
  direct.cuts = {{.threads = 8, .vector = 8},
                 {.threads = 8, .vector = 4, .strided = 2},
                 {.threads = 8, .vector = 4}};
  direct.copies = {Copy::kNone, Copy::kChunk};
  direct.async_stages = {0, 3};
  direct.lane_dimension = 1;
  direct.unrolled = 1;
  const BlockCostModel model(odd, Gpu());
  EXPECT_LT(model.Estimate(WithRows()).total, model.Estimate(direct).total);
  const Expression even = Shipped("matmul.mdh", {{"I", "1024"}, {"J", "512"}, {"K", "768"}});
  EXPECT_LT(BlockCostModel(even, Gpu()).Estimate(direct).local, 0.8 * model.Estimate(direct).local);
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

// ---- Combining partial results ----

TEST(ShareSlotsTest, CoversAllSlotsWithoutAnEmptyShare) {
  for (const int64_t results : {1, 3, 31, 1000, 65536, 1 << 24}) {
    for (const int64_t slots : {2, 3, 7, 64, 1000, 65536}) {
      const SlotShares shares = ShareSlots(results, slots);
      EXPECT_GE(shares.shares * shares.slots, slots);
      EXPECT_LT((shares.shares - 1) * shares.slots, slots);
      EXPECT_LE(shares.items * shares.shares, 512);
      EXPECT_GE(shares.items, 1);
    }
  }
}

TEST(ShareSlotsTest, FewResultsGetManyThreads) {
  EXPECT_EQ(ShareSlots(1, 256).shares, 256);
  EXPECT_EQ(ShareSlots(1 << 20, 256).shares, 1);
  // Eight are loaded at once, where the device has room for the threads.
  EXPECT_EQ(ShareSlots(5041, 117).slots, 8);
  EXPECT_EQ(ShareSlots(16384, 117).slots, 8);
  EXPECT_EQ(ShareSlots(65536, 16).slots, 8);
  EXPECT_EQ(ShareSlots(1 << 18, 16).slots, 16);
  for (const int64_t results : {1, 5, 100, 1 << 20}) {
    const SlotShares few = ShareSlots(results, 256, /*most_threads=*/16);
    EXPECT_LE(few.items * few.shares, 16) << results;
  }
}

}  // namespace
}  // namespace mdh::block_design_test

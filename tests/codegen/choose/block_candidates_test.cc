// Which designs rules choose, the best first.
#include "codegen/choose/block_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/choose/default_parameters.h"
#include "core/base/round.h"
#include "core/text/parser.h"
#include "tests/codegen/choose/sample_designs.h"
#include "tests/source_path.h"

namespace mdh::block_candidates_test {
namespace {

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

// All that is read of it is its boundary; climbs among designs whose cost is no number never end.
TEST(BlockCandidatesTest, OfABufferWithoutElementsEveryCostIsANumber) {
  for (const char* buffer : {"a[0,2] else 2", "a[2,0] else 2", "a[0,0] else 0"}) {
    const Result<Expression> borders = ParseExpression(absl::StrCat(
        "borders := out_view<fp32>( y: (i,j) -> (j) ) o md_hom<5,23>( f, (max, ++) ) o\n"
        "inp_view<fp32>( ",
        buffer, ": (i,j) -> (i, 3*i + j + 1) ) where f(a) -> (y: fp32) { y = a }"));
    ASSERT_TRUE(borders.ok()) << borders.status();
    const std::vector<BlockCandidate> candidates =
        BlockCandidates(*borders, CudaModel(), Gpu(), {.count = 20});
    ASSERT_FALSE(candidates.empty()) << buffer;
    for (const BlockCandidate& candidate : candidates) {
      EXPECT_TRUE(std::isfinite(candidate.cost.total)) << buffer << ToText(candidate.parameters);
    }
  }
}

TEST(BlockCandidatesTest, SomeAreWithAsynchronousCopies) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  const auto count = [&](const DeviceDescription& device) {
    const std::vector<BlockCandidate> candidates = BlockCandidates(
        matmul, *SystemModelNamed(device.kind == DeviceKind::kCuda ? "CUDA" : "OpenCL"), device,
        {.count = 40});
    return std::count_if(candidates.begin(), candidates.end(), [](const BlockCandidate& c) {
      return ToText(c.parameters).find(":async") != std::string::npos;
    });
  };
  const auto with = count(Gpu());
  EXPECT_GT(with, 0);
  EXPECT_LT(with, 40);
  EXPECT_EQ(count(GpuUnder(DeviceKind::kOpenCl)), 0);
}

TEST(BlockCandidatesTest, AsynchronousCopiesOverlapWhereThreadsHaveResultsEnough) {
  const auto first = [](const char* i, const char* j, const char* k) {
    const Expression matmul = Shipped("matmul.mdh", {{"I", i}, {"J", j}, {"K", k}});
    return BlockCandidates(matmul, CudaModel(), Gpu(), {}).front().design;
  };
  const BlockDesign large = first("2048", "2048", "2048");
  ASSERT_FALSE(large.async_stages.empty()) << ToString(MatMul(), large);
  EXPECT_EQ(large.copy_overlap, CopyOverlap::kCopies);
  // As many blocks as there are without: the compiler leaves registers for them.
  const Expression uneven = Shipped("matmul.mdh", {{"I", "2583"}, {"J", "1964"}, {"K", "1025"}});
  const std::vector<BlockCandidate> some =
      BlockCandidates(uneven, CudaModel(), Gpu(), {.count = 40});
  EXPECT_TRUE(std::ranges::any_of(some, [](const BlockCandidate& candidate) {
    const BlockDesign& blocks = candidate.design;
    return blocks.copy_overlap == CopyOverlap::kCopies && blocks.resident_blocks >= 2;
  }));
  EXPECT_EQ(first("1", "4096", "4096").copy_overlap, CopyOverlap::kNone);
}

TEST(BlockCandidatesTest, TilesFitSizesThatArePrime) {
  const auto least_behind_the_end = [](const char* size) {
    const Expression matmul = Shipped("matmul.mdh", {{"I", size}, {"J", "4096"}, {"K", "4096"}});
    int64_t least = INT64_MAX;
    for (const BlockCandidate& c :
         BlockCandidates(matmul, CudaModel(), Gpu(), {.count = 40, .evaluations = 3000})) {
      const BlockDesign::Cut& cut = c.design.cuts[0];
      const int64_t size_of_tile = cut.threads * cut.vector * cut.strided * cut.loops;
      const int64_t rows = matmul.dimensions()[0].size;
      if (size_of_tile < 64) continue;
      least = std::min(least, RoundUp(rows, size_of_tile) - rows);
    }
    return least;
  };
  EXPECT_LE(least_behind_the_end("163"), 5);  // 64 rows or more, by powers of two 29
  EXPECT_LE(least_behind_the_end("331"), 9);  // 53
}

TEST(BlockCandidatesTest, AreValidDifferentAndOrderedForAllShippedExpressions) {
  const std::string folder = SourcePath("client/expressions");
  int with_candidates = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".mdh") continue;
    const Expression expression = Shipped(entry.path().filename());
    const std::vector<BlockCandidate> candidates =
        BlockCandidates(expression, CudaModel(), Gpu(), {.count = 5, .evaluations = 300});
    EXPECT_EQ(candidates.empty(), expression.has_prefix_sum()) << entry.path();
    with_candidates += candidates.empty() ? 0 : 1;
    std::set<std::string> texts;
    double last = 0;
    const std::string name = entry.path().filename();
    const bool is_stencil = name == "blur.mdh" || name == "jacobi2d.mdh" || name == "jacobi3d.mdh";
    for (const BlockCandidate& candidate : candidates) {
      const Status status = Validate(expression, CudaModel(), Gpu(), candidate.parameters);
      EXPECT_TRUE(status.ok()) << entry.path() << ": " << status;
      EXPECT_TRUE(texts.insert(ToText(candidate.parameters)).second);
      EXPECT_GE(candidate.cost.total, last) << name;
      // Columns come first whatever they cost.
      if (!is_stencil || &candidate != &candidates.front()) last = candidate.cost.total;
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
// Threads have points of neighbouring rows and planes, and rows end with few idle threads.
TEST(BlockCandidatesTest, OfStencilsColumnsComeFirst) {
  const auto first = [](const Expression& e) {
    return ToString(e, BlockCandidates(e, CudaModel(), Gpu(), {}).front().design);
  };
  const auto jacobi3d = [](const std::string& size) {
    return Shipped("jacobi3d.mdh", {{"I1", size}, {"I2", size}, {"I3", size}});
  };
  EXPECT_EQ(first(jacobi3d("256")), "i 1x1x4 j 1x4x2 k 1x64x1 inp direct lanes k unrolled 0");
  EXPECT_EQ(first(jacobi3d("258")), "i 1x1x4 j 1x4x2 k 1x43x1 inp direct lanes k unrolled 0");
  EXPECT_EQ(first(jacobi3d("260")), "i 1x1x4 j 1x4x2 k 1x65x1 inp direct lanes k unrolled 0");
  EXPECT_EQ(first(Shipped("jacobi2d.mdh")), "i 1x4x4 j 1x64x1 inp direct lanes j unrolled 0");
  // Too few results, rows alone, and points that share nothing.
  EXPECT_NE(first(jacobi3d("16")), "i 1x1x4 j 1x4x2 k 1x16x1 inp direct lanes k unrolled 0");
  for (const char* other : {"jacobi1d.mdh", "map.mdh", "mandelbrot.mdh"}) {
    EXPECT_EQ(first(Shipped(other)).find("x4x4 "), std::string::npos) << other;
  }
}

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

}  // namespace
}  // namespace mdh::block_candidates_test

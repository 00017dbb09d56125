// Plans: which partitions there are, which come first, and that all mean the same.
#include "core/pipeline/plan/plan.h"

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/pipeline/pipeline_interpreter.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/fresh_seed.h"
#include "tests/random_pipeline.h"
#include "tests/sanitized.h"

namespace mdh::plan_test {
namespace {

// x0 -> x1 -> ... in `steps` element-wise steps.
Pipeline Chain(int steps) {
  std::string text = absl::StrCat("p := pipeline(x0) -> x", steps, " {");
  for (int s = 0; s < steps; ++s) absl::StrAppend(&text, " x", s + 1, " = step(x", s, ");");
  absl::StrAppend(&text, R"( }
step := out_view<fp32>( y: (i) -> (i) ) o md_hom<1024>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = x * x + 1 }
)");
  return *ParsePipeline(text);
}

TEST(Plan, ElementWiseStepsAreBestAsOne) {
  const std::vector<Partition> partitions = PlanPartitions(Chain(4));
  ASSERT_EQ(partitions.size(), 8u);
  EXPECT_EQ(partitions[0].pipeline.steps().size(), 1u);
  EXPECT_EQ(partitions[0].bytes, 2 * 4096);
  EXPECT_EQ(partitions[0].operations, 4 * 2 * 1024);
  EXPECT_TRUE(partitions.back().is_unfused());
  EXPECT_EQ(partitions.back().bytes, 4 * 2 * 4096);
  std::set<std::string> digests;
  for (const Partition& partition : partitions) digests.insert(Digest(partition.pipeline));
  EXPECT_EQ(digests.size(), 8u);
}

// A producer of many operations that is read in a product for every row is not computed again
// first.
TEST(Plan, WhatIsReadOftenIsNotComputedAgainFirst) {
  const Pipeline pipeline =
      *ParsePipeline(R"(p := pipeline(x, w) -> y { h = heavy(x); y = product(h, w) }
heavy := out_view<fp32>( h: (i,k) -> (i,k) ) o md_hom<64,64>( f, (++,++) ) o
  inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> h { h = exp(tanh(exp(tanh(exp(x))))) }
product := out_view<fp32>( y: (i,j,k) -> (i,j) ) o md_hom<64,64,64>( f, (++,++,+) ) o
  inp_view<fp32,fp32>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (k,j) ) where f(a, b) -> y { y = a * b }
)");
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  ASSERT_EQ(partitions.size(), 2u);
  EXPECT_TRUE(partitions[0].is_unfused());
  EXPECT_EQ(partitions[1].edges, (std::vector<PlannedEdge>{{0, 1, EdgeKind::kInline}}));
}

TEST(Plan, ActivationsAreEpilogues) {
  const std::vector<Partition> partitions = PlanPartitions(*ParsePipeline(kLayer));
  ASSERT_EQ(partitions.size(), 2u);
  EXPECT_EQ(partitions[0].edges, (std::vector<PlannedEdge>{{0, 1, EdgeKind::kEpilogue}}));
  EXPECT_EQ(partitions[0].pipeline.steps().size(), 1u);
  EXPECT_LT(partitions[0].bytes, partitions[1].bytes);
  EXPECT_EQ(partitions[0].operations, partitions[1].operations);
}

// Where two steps read one temporary, it is gone once both are fused with its writer.
TEST(Plan, ProducersOfSeveralReaders) {
  const Pipeline pipeline = *ParsePipeline(R"(p := pipeline(x) -> (y, z) {
  h = step(x); y = step(h); z = step(h)
}
step := out_view<fp32>( y: (i) -> (i) ) o md_hom<1024>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = x + 1 }
)");
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  ASSERT_EQ(partitions.size(), 7u);
  // One step reads x and writes both; else both read x, and nothing is between.
  EXPECT_EQ(partitions[0].edges,
            (std::vector<PlannedEdge>{{0, 1, EdgeKind::kEpilogue}, {0, 2, EdgeKind::kEpilogue}}));
  EXPECT_EQ(partitions[0].bytes, 3 * 4096);
  EXPECT_EQ(partitions[1].pipeline.steps().size(), 2u);
  EXPECT_EQ(partitions[1].bytes, 4 * 4096);
}

// Six layers, each a product and an activation of what both layers before it give.
Pipeline Layers() {
  std::string calls = "h0 = matmul(x, w); x0 = activation(h0, h0);";
  for (int n = 1; n < 6; ++n) {
    absl::StrAppend(&calls, " h", n, " = matmul(x", n - 1, ", w); x", n, " = activation(h", n,
                    ", h", n - 1, ");");
  }
  return *ParsePipeline(absl::StrCat("p := pipeline(x, w) -> x5 { ", calls, R"( }
matmul := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<16,16,16>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }
activation := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<16,16>( f, (++, ++) ) o
  inp_view<fp32,fp32>( x: (i,j) -> (i,j), b: (i,j) -> (i,j) ) where f(x, b) -> y { y = max(x + b, 0) }
)"));
}

void ExpectLittleTime(const Pipeline& pipeline, size_t best_steps) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(partitions.size(), 64u);
  EXPECT_EQ(partitions[0].pipeline.steps().size(), best_steps);
  EXPECT_TRUE(partitions.back().is_unfused());
  // 50 ms where nothing else runs and everything is optimised.
  EXPECT_LT(time.count(), 500) << "ms";
  std::printf("%.1f ms\n", time.count());
}

TEST(Plan, TwelveStepsTakeLittleTime) {
  ExpectLittleTime(Chain(12), 1);
  ExpectLittleTime(Layers(), 6);
}

TEST(Plan, AllPartitionsMeanTheSame) {
  Rng rng(FreshSeed());
  RandomPipelineOptions options;
  options.expression.max_points = 256;
  options.expression.max_rank = 3;
  int fused = 0;
  for (int n = 0; n < 400 && fused < 40; ++n) {
    const Pipeline pipeline = RandomPipeline(rng, options);
    const std::vector<Partition> partitions = PlanPartitions(pipeline);
    const std::vector<BufferBytes> inputs = RandomInputs(rng, pipeline);
    const auto expected = InterpretPipeline(pipeline, inputs);
    int unfused = 0;
    for (const Partition& partition : partitions) {
      unfused += partition.is_unfused() ? 1 : 0;
      if (partition.is_unfused()) continue;
      ++fused;
      ASSERT_TRUE(*InterpretPipeline(partition.pipeline, inputs) == *expected)
          << ToText(pipeline) << "\nfused:\n"
          << ToText(partition.pipeline);
    }
    EXPECT_EQ(unfused, 1);
  }
  EXPECT_GE(fused, 40);
}

}  // namespace
}  // namespace mdh::plan_test

// Plans: which partitions there are, which come first, and that all mean the same.
#include "core/pipeline/plan/plan.h"

#include <cstdio>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
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
  // Every edge in three ways, but those that would be the same; and both readers as one step.
  ASSERT_EQ(partitions.size(), 8u);
  // One step reads x and writes both; else both read x, and nothing is between.
  EXPECT_EQ(partitions[0].edges,
            (std::vector<PlannedEdge>{{0, 1, EdgeKind::kEpilogue}, {0, 2, EdgeKind::kEpilogue}}));
  EXPECT_EQ(partitions[0].bytes, 3 * 4096);
  EXPECT_EQ(partitions[1].pipeline.steps().size(), 2u);
  EXPECT_EQ(partitions[1].bytes, 4 * 4096);
}

// y and z read x once, and what reads both of them is the epilogue of the one step that they are.
TEST(Plan, SiblingsAreOneStep) {
  const Pipeline pipeline = *ParsePipeline(R"(p := pipeline(x) -> d {
  s = sum(x); m = largest(x); d = minus(m, s)
}
sum := out_view<fp32>( s: (i,j) -> (i) ) o md_hom<64,128>( f, (++, +) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> s { s = x }
largest := out_view<fp32>( s: (i,j) -> (i) ) o md_hom<64,128>( f, (++, max) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> s { s = x }
minus := out_view<fp32>( d: (i) -> (i) ) o md_hom<64>( f, (++) ) o
  inp_view<fp32,fp32>( a: (i) -> (i), b: (i) -> (i) ) where f(a, b) -> d { d = a - b }
)");
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  ASSERT_GE(partitions.size(), 3u);
  EXPECT_EQ(partitions[0].edges, (std::vector<PlannedEdge>{{0, 2, EdgeKind::kEpilogue},
                                                           {1, 2, EdgeKind::kEpilogue},
                                                           {0, 1, EdgeKind::kSiblings}}));
  EXPECT_EQ(partitions[0].pipeline.steps().size(), 1u);
  EXPECT_EQ(partitions[0].bytes, 4 * (64 * 128 + 64));
  EXPECT_FALSE(partitions[0].keeps_steps());
  EXPECT_EQ(partitions[1].edges.back(), (PlannedEdge{0, 1, EdgeKind::kSiblings}));
}

// An interpolation in three directions as one sum over three dimensions.
std::string Interpolation(const std::string& type) {
  return absl::StrCat(
      "p := pipeline(A, u) -> v { v = interp(A, A, A, u) }\n", "interp := out_view<", type,
      ">( v: (e,i,j,k,l,m,n) -> (e,i,j,k) ) o md_hom<50,7,7,7,7,7,7>( f, (++,++,++,++,+,+,+) ) o ",
      "inp_view<", type, ",", type, ",", type, ",", type,
      ">( A: (e,i,j,k,l,m,n) -> (i,l), B: (e,i,j,k,l,m,n) -> (j,m), C: (e,i,j,k,l,m,n) -> (k,n), "
      "u: (e,i,j,k,l,m,n) -> (e,l,m,n) ) where f(A, B, C, u) -> v { v = A * B * C * u }");
}

TEST(Plan, ProductsOfManyFactorsAreSplit) {
  const std::vector<Partition> partitions = PlanPartitions(*ParsePipeline(Interpolation("fp64")));
  ASSERT_EQ(partitions.size(), 2u);
  EXPECT_EQ(partitions[0].edges, (std::vector<PlannedEdge>{{0, 0, EdgeKind::kSplit}}));
  EXPECT_EQ(partitions[0].pipeline.steps().size(), 3u);
  EXPECT_EQ(partitions[0].operations, 3 * 2 * 50 * 7 * 7 * 7 * 7);
  EXPECT_TRUE(partitions[1].is_unfused());
  // Sums are reordered where that is allowed, or changes nothing.
  PlanOptions exact;
  exact.may_reassociate = false;
  EXPECT_EQ(PlanPartitions(*ParsePipeline(Interpolation("fp64")), exact).size(), 1u);
  EXPECT_EQ(PlanPartitions(*ParsePipeline(Interpolation("int32")), exact).size(), 2u);
}

// (A B) v, as it is written, takes n times as many operations as A (B v).
TEST(Plan, ContractionsAreReordered) {
  const Pipeline pipeline = *ParsePipeline(R"(p := pipeline(A, B, v) -> w {
  C = matmul(A, B); t = matvec(C, v); w = tanhs(t)
}
matmul := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<48,48,48>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }
matvec := out_view<fp32>( w: (i,k) -> (i) ) o md_hom<48,48>( f, (++, +) ) o
  inp_view<fp32,fp32>( M: (i,k) -> (i,k), v: (i,k) -> (k) ) where f(M, v) -> w { w = M * v }
tanhs := out_view<fp32>( y: (i) -> (i) ) o md_hom<48>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = tanh(x) }
)");
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  EXPECT_EQ(partitions[0].edges, (std::vector<PlannedEdge>{{0, 1, EdgeKind::kContraction},
                                                           {1, 2, EdgeKind::kEpilogue},
                                                           {1, 1, EdgeKind::kSplit}}));
  EXPECT_EQ(partitions[0].pipeline.steps().size(), 2u);
  EXPECT_EQ(partitions[0].operations, 2 * 2 * 48 * 48 + 48);
  Rng rng(1);
  const std::vector<BufferBytes> inputs = RandomInputs(rng, pipeline);
  const auto expected = InterpretPipeline(pipeline, inputs);
  for (const Partition& partition : partitions) {
    EXPECT_TRUE(*InterpretPipeline(partition.pipeline, inputs) == *expected)
        << ToText(partition.pipeline);
  }
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
  const std::clock_t start = std::clock();  // of this process: others do not count
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  const double time_ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(partitions.size(), 64u);
  EXPECT_EQ(partitions[0].pipeline.steps().size(), best_steps);
  EXPECT_TRUE(partitions.back().is_unfused());
  // 50 ms where nothing else runs and everything is optimised.
  EXPECT_LT(time_ms, kIsSanitized ? 10'000 : 500);
  std::printf("%.1f ms\n", time_ms);
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
  for (int n = 0; n < 400 && fused < TriedCases(40); ++n) {
    const Pipeline pipeline = RandomPipeline(rng, options);
    const std::vector<Partition> partitions = PlanPartitions(pipeline);
    const std::vector<BufferBytes> inputs = RandomInputs(rng, pipeline);
    const auto expected = InterpretPipeline(pipeline, inputs);
    int unfused = 0;
    std::set<std::string> decisions;
    for (const Partition& partition : partitions) {
      std::string text;
      for (const PlannedEdge& edge : partition.edges) {
        absl::StrAppend(&text, edge.producer, ",", edge.consumer, ":", static_cast<int>(edge.kind),
                        " ");
      }
      EXPECT_TRUE(decisions.insert(text).second) << text;
      unfused += partition.is_unfused() ? 1 : 0;
      if (partition.is_unfused()) continue;
      ++fused;
      ASSERT_TRUE(*InterpretPipeline(partition.pipeline, inputs) == *expected)
          << ToText(pipeline) << "\nfused:\n"
          << ToText(partition.pipeline);
    }
    EXPECT_EQ(unfused, 1);
  }
  EXPECT_GE(fused, TriedCases(40));
}

// Chains of products of matrices of random sizes, put together in a random order.
TEST(Plan, ProductsOfMatricesMeanTheSameInAllOrders) {
  Rng rng(FreshSeed());
  int reordered = 0;
  for (int n = 0; n < TriedCases(60); ++n) {
    struct Matrix {
      std::string name;
      int64_t rows, columns;
    };
    std::vector<Matrix> matrices;
    std::vector<std::string> names, calls;
    int64_t rows = 1 + Below(rng, 6);
    for (int64_t count = 3 + Below(rng, 3); count > 0; --count) {
      const int64_t columns = 1 + Below(rng, 6);
      names.push_back(absl::StrCat("a", names.size()));
      matrices.push_back({names.back(), rows, columns});
      rows = columns;
    }
    while (matrices.size() > 1) {
      const auto at = static_cast<size_t>(Below(rng, matrices.size() - 1));
      const Matrix a = matrices[at], b = matrices[at + 1];
      const Matrix c{absl::StrCat("c", calls.size()), a.rows, b.columns};
      calls.push_back(absl::StrCat(c.name, " = matmul<|", a.rows, ",", b.columns, ",", a.columns,
                                   ">(", a.name, ", ", b.name, ")"));
      matrices[at] = c;
      matrices.erase(matrices.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    const Pipeline pipeline = *ParsePipeline(
        absl::StrCat("p := pipeline(", absl::StrJoin(names, ","), ") -> ", matrices[0].name, " {",
                     absl::StrJoin(calls, "; "), " }\n",
                     "matmul<| I, J, K> := out_view<int32>( C: (i,j,k) -> (i,j) ) o ",
                     "md_hom<I,J,K>( f, (++, ++, +) ) o ",
                     "inp_view<int32,int32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) ",
                     "where f(A, B) -> C { C = A * B }"));
    const std::vector<BufferBytes> inputs = RandomInputs(rng, pipeline);
    const auto expected = InterpretPipeline(pipeline, inputs);
    for (const Partition& partition : PlanPartitions(pipeline)) {
      reordered += partition.edges.back().kind == EdgeKind::kSplit ? 1 : 0;
      ASSERT_TRUE(*InterpretPipeline(partition.pipeline, inputs) == *expected)
          << ToText(pipeline) << "\nas\n"
          << ToText(partition.pipeline);
    }
  }
  if (!kIsSanitized) {
    EXPECT_GE(reordered, 10);
  }
}

}  // namespace
}  // namespace mdh::plan_test

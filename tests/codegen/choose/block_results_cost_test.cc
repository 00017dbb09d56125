// What the cost model of GPUs takes for results that threads combine, and for loads and loops that
// are not what a design asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "codegen/choose/block_candidates.h"
#include "codegen/choose/block_cost.h"
#include "codegen/choose/default_parameters.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/text/parser.h"
#include "tests/codegen/choose/sample_designs.h"

namespace mdh::block_results_cost_test {
namespace {

using Copy = BlockDesign::Copy;

// Sums of rows, or what users combine by.
Expression Rows(const std::string& combine, const std::string& function = "") {
  return *ParseExpression(
      "rows<| I = 1312, K = 80> := out_view<fp64>( y: (i,k) -> (i) ) o\n"
      "md_hom<I,K>( f, (++, " +
      combine +
      ") ) o inp_view<fp64>( x: (i,k) -> (i,k) )\n"
      "where f(x) -> y { y = x }" +
      function + "\n");
}

BlockDesign ThreadsAlongRows(int64_t threads, int64_t vector, int64_t rows) {
  BlockDesign design;
  design.cuts = {{.threads = rows}, {.threads = threads, .vector = vector}};
  design.copies = {Copy::kNone};
  design.lane_dimension = 1;
  design.unrolled = 1;
  return design;
}

// A thread that combines what all have left does so one after the other.
TEST(BlockResultsCost, WhatUsersCombineByCounts) {
  const Expression sums = Rows("+");
  const Expression logs = Rows("c", ", c(a, b) -> r { r = log(exp(a) + exp(b)) }");
  const auto latency = [&](const Expression& rows, int64_t threads, int64_t vector) {
    return BlockCostModel(rows, Gpu()).Estimate(ThreadsAlongRows(threads, vector, 2)).latency;
  };
  EXPECT_GT(latency(logs, 80, 1), 3 * latency(sums, 80, 1));
  EXPECT_GT(latency(logs, 80, 1), latency(logs, 16, 5));
}

// Threads of one warp and a power of two, in whole warps: as the kernel has them.
TEST(BlockResultsCost, ShufflesNeedWholeWarps) {
  const Expression sums = Rows("+");
  const BlockCostModel model(sums, Gpu());
  const auto shared = [&](int64_t threads, int64_t rows) {
    return model.Estimate(ThreadsAlongRows(threads, 1, rows)).shared_bytes;
  };
  EXPECT_EQ(shared(16, 2), 0);
  EXPECT_GT(shared(16, 3), 0);
  EXPECT_GT(shared(20, 8), 0);
  EXPECT_GT(shared(64, 2), 0);
  const BlockCostModel opencl(sums, GpuUnder(DeviceKind::kOpenCl));
  EXPECT_GT(opencl.Estimate(ThreadsAlongRows(16, 1, 2)).shared_bytes, 0);
}

Expression Windows() {
  return *ParseExpression(
      "windows<| P = 64, Q = 64, C = 28, R = 7, S = 7> := out_view<fp32>( y: (p,q,c,r,s) -> (p,q) "
      ") "
      "o\nmd_hom<P,Q,C,R,S>( f, (++, ++, +, +, +) ) o\n"
      "inp_view<fp32,fp32>( a: (p,q,c,r,s) -> (p+r, q+s, c), w: (p,q,c,r,s) -> (r, s, c) )\n"
      "where f(a, w) -> y { y = a * w }\n");
}

BlockDesign WindowsOf(int64_t s_threads, int64_t s_vector, int64_t c_vector, int64_t rows) {
  BlockDesign design;
  design.cuts = {{.threads = 2, .vector = rows},
                 {.threads = 4, .vector = 2},
                 {.threads = 7, .vector = c_vector},
                 {.vector = 7},
                 {.threads = s_threads, .vector = s_vector}};
  design.copies = {Copy::kNone, Copy::kBlock};
  design.lane_dimension = 2;
  design.unrolled = 3;
  return design;
}

// 7 = 4 + 3: no compiler unrolls a loop whose end depends on the thread, and what windows have in
// common is loaded again.
TEST(BlockResultsCost, LoopsThatEndSomewhereAreNotUnrolled) {
  const Expression windows = Windows();
  const BlockCostModel model(windows, Gpu());
  EXPECT_GT(model.Estimate(WindowsOf(2, 4, 1, 2)).local,
            1.3 * model.Estimate(WindowsOf(1, 7, 1, 2)).local);
}

// Neighbours are loaded at once if a thread has room for all that it reads: 8 x 8 x 4 elements are
// too many.
TEST(BlockResultsCost, LoadsOfTooManyElementsAreSingle) {
  const Expression windows = Windows();
  const BlockDesign few = WindowsOf(1, 1, 4, 1), many = WindowsOf(1, 7, 4, 2);
  EXPECT_EQ(DesignInput(windows, few, 0).vector, 4);
  EXPECT_EQ(DesignInput(windows, many, 0).vector, 1);
}

// A reduction in front of a prefix sum is that of one block.
TEST(BlockResultsCost, CandidatesMayKeepReductionsToBlocks) {
  const Expression rows = *ParseExpression(
      "rows<| I = 9, K = 5361> := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<I,K>( f, (++, +) ) o\n"
      "inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> y { y = x }\n");
  const auto shares = [&](bool may_share) {
    const std::vector<BlockCandidate> found =
        BlockCandidates(rows, CudaModel(), Gpu(), {.count = 40, .shares_reductions = may_share});
    EXPECT_FALSE(found.empty());
    return std::ranges::any_of(
        found, [](const BlockCandidate& c) { return HasSharedReduction(c.design); });
  };
  EXPECT_TRUE(shares(true));
  EXPECT_FALSE(shares(false));
}

TEST(BlockResultsCost, SumsBeforePrefixSumsHaveABlockEach) {
  const Expression sums = *ParseExpression(
      "sums<| I = 96, K = 2660> := out_view<fp32>( y: (i,k) -> (i) ) o\n"
      "md_hom<I,K>( f, (ps(+), +) ) o inp_view<fp32>( x: (i,k) -> (i,k) )\n"
      "where f(x) -> y { y = x }\n");
  const TuningParameters rules = DefaultParameters(sums, CudaModel(), Gpu());
  EXPECT_GT(rules.scan.threads, 0);
  EXPECT_THAT(ToText(rules), ::testing::HasSubstr("tile=1,2660|"));
}

}  // namespace
}  // namespace mdh::block_results_cost_test

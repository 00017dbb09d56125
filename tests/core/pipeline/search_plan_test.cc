// What a search of a pipeline tunes, and how it divides its budget.
#include "core/pipeline/plan/search_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/expression/canonical.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"

namespace mdh::search_plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Four element-wise steps: three of them mean the same.
constexpr char kChain[] = R"(p := pipeline(a) -> e { b = s(a); c = s(b); d = t(c); e = s(d) }
s := out_view<fp32>( y: (i) -> (i) ) o md_hom<1024>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = x * x + 1 }
t := out_view<fp32>( y: (i) -> (i) ) o md_hom<1024>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = x - 3 }
)";

TEST(SearchPlan, HasTheCheapestPartitionsAndTheUnfusedOne) {
  const SearchPlan plan = PlanSearch(*ParsePipeline(kChain), {.fused_partitions = 2});
  ASSERT_THAT(plan.partitions, SizeIs(3));
  EXPECT_THAT(plan.partitions[0].pipeline.steps(), SizeIs(1));
  EXPECT_TRUE(plan.partitions[2].is_unfused());
  // Equal steps are one: the unfused one has two that differ.
  EXPECT_EQ(std::count_if(plan.steps.begin(), plan.steps.end(),
                          [](const SearchedStep& step) { return step.partitions.back() == 2; }),
            2);
}

TEST(SearchPlan, SaysWhatIsFused) {
  const Pipeline layer = *ParsePipeline(kLayer);
  const SearchPlan plan = PlanSearch(layer);
  ASSERT_THAT(plan.partitions, SizeIs(2));
  EXPECT_EQ(Describe(layer, plan.partitions[0]), "activation in the epilogue of matmul");
  EXPECT_EQ(Describe(layer, plan.partitions[1]), "unfused");
  const JointGroup both = {.first = 0, .last = 1, .dimensions = {{0}, {0}}, .part = {1}};
  EXPECT_EQ(Describe(layer, plan.partitions[1], {&both, 1}), "matmul, activation together");
  EXPECT_THAT(plan.steps, SizeIs(3));
  EXPECT_THAT(plan.steps[0].partitions, ElementsAre(0));
  const Pipeline chain = *ParsePipeline(kChain);
  EXPECT_EQ(Describe(chain, PlanSearch(chain).partitions[0]),
            "s (step 1) in s (step 2), s (step 2) in t, t in s (step 4)");
}

constexpr char kProducts[] = R"(p := pipeline(x, A, B, v) -> (s, m, w) {
  s = sum(x); m = largest(x); C = matmul(A, B); w = matvec(C, v)
}
sum := out_view<fp32>( s: (i,j) -> (i) ) o md_hom<64,64>( f, (++, +) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> s { s = x }
largest := out_view<fp32>( s: (i,j) -> (i) ) o md_hom<64,64>( f, (++, max) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> s { s = x }
matmul := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<64,64,64>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }
matvec := out_view<fp32>( w: (i,k) -> (i) ) o md_hom<64,64>( f, (++, +) ) o
  inp_view<fp32,fp32>( M: (i,k) -> (i,k), v: (i,k) -> (k) ) where f(M, v) -> w { w = M * v }
)";

TEST(SearchPlan, SaysWhichStepsAreOneAndWhatIsReordered) {
  const Pipeline pipeline = *ParsePipeline(kProducts);
  EXPECT_EQ(Describe(pipeline, PlanSearch(pipeline).partitions[0]),
            "matmul in the sum of matvec, sum beside largest, matvec two factors at a time");
}

// Rows are summed beside their largest element in all cheapest partitions, but not in one of those
// that are searched.
TEST(SearchPlan, OneFusedPartitionKeepsTheSteps) {
  std::string text = kProducts;
  text.replace(text.find("(s, m, w)"), 9, "(m, w, z)");
  text.replace(text.find("s = sum(x);"), 11, "s = sum(x); z = root(s);");
  text +=
      "root := out_view<fp32>( y: (i) -> (i) ) o md_hom<64>( f, (++) ) o inp_view<fp32>( x: (i) "
      "-> (i) ) where f(x) -> y { y = sqrt(x) }";
  const Pipeline pipeline = *ParsePipeline(text);
  for (const int fused : {1, 2, 3}) {
    const SearchPlan plan = PlanSearch(pipeline, {.plan = {}, .fused_partitions = fused});
    ASSERT_THAT(plan.partitions, SizeIs(fused + 1));
    EXPECT_EQ(std::count_if(plan.partitions.begin(), plan.partitions.end(),
                            [](const Partition& partition) {
                              return partition.keeps_steps() && !partition.is_unfused();
                            }),
              1)
        << fused;
  }
}

TEST(SearchPlan, OfManyFusedStepsTheFirstAreNamed) {
  std::string calls;
  for (const char* const call :
       {"b = s(a)", "c = s(b)", "d = t(c)", "e = s(d)", "g = t(e)", "h = s(g)"}) {
    calls += std::string(calls.empty() ? "" : "; ") + call;
  }
  const std::string chain = kChain;
  const Pipeline pipeline = *ParsePipeline("p := pipeline(a) -> h { " + calls + " }" +
                                           chain.substr(chain.find("\ns :=")));
  EXPECT_EQ(Describe(pipeline, PlanSearch(pipeline).partitions[0]),
            "s (step 1) in s (step 2), s (step 2) in t (step 3), t (step 3) in s (step 4), "
            "and 2 more");
}

TEST(SearchPlan, StepsThatComputeNothingAreNotSearched) {
  EXPECT_THAT(PlanSearch(*ParsePipeline(kLayer, {{"M", "0"}})).steps, SizeIs(0));
}

TEST(SearchPlan, OfManyStepsTheCostliestAreSearched) {
  const Pipeline pipeline = *ParsePipeline(kProducts);
  const SearchPlan all = PlanSearch(pipeline), some = PlanSearch(pipeline, {.most_steps = 2});
  EXPECT_EQ(all.left_out, 0);
  ASSERT_THAT(some.steps, SizeIs(2));
  EXPECT_EQ(some.left_out, std::ssize(all.steps) - 2);
  EXPECT_EQ(some.partitions.size(), all.partitions.size());
  std::vector<double> costs;
  for (const SearchedStep& step : all.steps) costs.push_back(step.cost);
  std::sort(costs.begin(), costs.end(), std::greater<>());
  for (const SearchedStep& step : some.steps) EXPECT_GE(step.cost, costs[1]);
}

TEST(SearchPlan, SharesAddUpAndLeaveNoStepWithout) {
  const SearchPlan plan = PlanSearch(*ParsePipeline(kLayer));
  const std::vector<int64_t> shares = Shares(6'000'000, plan);
  ASSERT_THAT(shares, SizeIs(3));
  const int64_t sum = std::accumulate(shares.begin(), shares.end(), int64_t{0});
  EXPECT_LE(sum, 6'000'000);
  EXPECT_GE(sum, 6'000'000 - 3);
  for (const int64_t share : shares) EXPECT_GE(share, 1'000'000);
  EXPECT_GT(shares[0], shares[2]);  // the fused step costs more than the activation
  EXPECT_THAT(Shares(2, plan), ElementsAre(1, 1, 1));
  EXPECT_THAT(Shares(0, plan), ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace mdh::search_plan_test

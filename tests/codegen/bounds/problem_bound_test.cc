#include "codegen/bounds/problem_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/text/pipeline_parser.h"
#include "tests/shipped_expression.h"

namespace mdh::problem_bound_test {
namespace {

using ::testing::ElementsAre;

DeviceDescription H100() {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.limits = {.clock_hz = 1.98e9, .memory_bytes_per_s = 3.352e12};
  return device;
}

ProblemBound OnH100(ComputationView computation, const BoundQuestion& question = {}) {
  return ProblemBoundOf(computation, H100(), RatesOf(H100(), {}), question);
}

const Floor* Find(const ProblemBound& bound, const std::string& resource) {
  for (const Floor& floor : bound.floors) {
    if (floor.resource == resource) return &floor;
  }
  return nullptr;
}

double TimeOf(const ProblemBound& bound, const std::string& resource) {
  const Floor* const floor = Find(bound, resource);
  return floor == nullptr ? 0 : floor->time_ns;
}

TEST(ProblemBound, OfAProductIsWhatItsUnitsTake) {
  const Expression product = Shipped("matmul.mdh", {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}});
  const double least = 1024.0 * 1024 * 1024 / (132 * 128 * 1.98e9) * 1e9;
  EXPECT_NEAR(OnH100(product).time_ns(), least, 1e-6 * least);
  const ProblemBound bound = OnH100(product);
  EXPECT_EQ(Find(bound, "fp32 units")->reason, "1 contraction at the fastest rate of all units");
  // Rounded operations are not fused.
  EXPECT_NEAR(OnH100(product, {.numerics = NumericsPolicy::kExactOrder}).time_ns(), 2 * least,
              2e-3 * least);
}

TEST(ProblemBound, ContractionsMayRunOnMatrixUnits) {
  const Expression halves =
      Shipped("matmul_fp16.mdh", {{"I", "4096"}, {"J", "4096"}, {"K", "4096"}});
  const double least = 4096.0 * 4096 * 4096 / (132 * 2048 * 1.98e9) * 1e9;
  EXPECT_NEAR(TimeOf(OnH100(halves), "matrix units"), least, 1e-6 * least);
  // tf32 is asked for.
  const Expression singles = Shipped("matmul.mdh", {{"I", "4096"}, {"J", "4096"}, {"K", "4096"}});
  const ProblemBound rounded = OnH100(singles, {.numerics = NumericsPolicy::kTf32});
  EXPECT_NEAR(TimeOf(rounded, "matrix units"), 2 * least, 1e-6 * least);
  EXPECT_EQ(TimeOf(rounded, "fp32 units"), 0);
}

// n elements of 4 bytes are read and as many written.
Expression Roots(int64_t n) {
  Result<Expression> expression = ParseExpression(
      "roots<| N> := out_view<fp32>( y: (i) -> (i) ) o md_hom<N>( f, (++) ) o "
      "inp_view<fp32>( x: (i) -> (i) ) where f(x) -> y { y = sqrt(x) }",
      {{"N", std::to_string(n)}});
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

TEST(ProblemBound, CachesKeepWhatFitsIntoThem) {
  const double cache = 50 << 20, rate = 3.352e12;
  const auto bytes = [&](double read, const BoundQuestion& question) {
    return TimeOf(OnH100(Roots(static_cast<int64_t>(read / 4)), question), "memory") * rate / 1e9;
  };
  EXPECT_EQ(bytes(10e6, {}), 0);
  EXPECT_NEAR(bytes(100e6, {}), 200e6 - cache, 10);
  EXPECT_NEAR(bytes(100e6, {.calls = 4}), 200e6 - cache * 1.25, 10);
  EXPECT_NEAR(bytes(100e6, {.calls = 1}), 200e6 - 2 * cache, 10);
  EXPECT_NEAR(bytes(10e6, {.has_cold_caches = true}), 20e6, 10);
  EXPECT_NEAR(bytes(10e6, {.has_cold_caches = true, .calls = 1}), 10e6, 10);
}

TEST(ProblemBound, NothingIsKnownOfTheCachesOfOtherGuests) {
  DeviceDescription device;
  device.isa = "x86-64 avx2 fma";
  device.clock_hz = 2e9;
  const DeviceRates rates = RatesOf(device, {.memory_bytes_per_s = 1e10});
  EXPECT_EQ(TimeOf(ProblemBoundOf(Roots(100'000'000), device, rates), "memory"), 0);
  const ProblemBound cold =
      ProblemBoundOf(Roots(1'000'000), device, rates, {.has_cold_caches = true, .calls = 1});
  const Floor* const memory = Find(cold, "memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_NEAR(memory->time_ns, 4e6 / 1.02e10 * 1e9, 1);
  EXPECT_EQ(memory->assumption, "memory moves no more than was measured");
}

TEST(ProblemBound, ExponentialsAndLaunchesTakeTheirTime) {
  const Expression roots = Roots(1'000'000);
  const ProblemBound bound =
      ProblemBoundOf(roots, H100(), RatesOf(H100(), {.launch_overhead_ns = 1000}), BoundQuestion());
  EXPECT_NEAR(TimeOf(bound, "special units"), 1e6 / (132 * 16 * 1.98e9) * 1e9, 1e-3);
  EXPECT_NEAR(TimeOf(bound, "launch"), 950, 1e-6);
  EXPECT_EQ(bound.floors.front().resource, "launch");
  EXPECT_FALSE(bound.floors.front().assumption.empty());
}

TEST(ProblemBound, WithoutRatesThereIsNone) {
  DeviceDescription device;
  device.clock_hz = 0;
  EXPECT_THAT(ProblemBoundOf(Roots(1'000'000), device, RatesOf(device, {})).floors, ElementsAre());
  EXPECT_EQ(ProblemBound().time_ns(), 0);
}

TEST(ProblemBound, OfAPipelineMovesInputsAndOutputsOnly) {
  std::ifstream file(SourcePath("client/expressions/pipelines/softmax.mdh"));
  std::stringstream text;
  text << file.rdbuf();
  const Result<Pipeline> softmax = ParsePipeline(text.str(), {{"I", "4096"}, {"J", "8192"}});
  ASSERT_TRUE(softmax.ok()) << softmax.status();
  const double bytes = 2.0 * 4 * 4096 * 8192 - (50 << 20);
  EXPECT_NEAR(TimeOf(OnH100(*softmax), "memory"), bytes / 3.352e12 * 1e9, 1);
  EXPECT_GT(TimeOf(OnH100(*softmax), "special units"), 0);
}

TEST(ProblemBound, NoneOfTwoContractionsIsForgotten) {
  const std::string text = R"(
    p := pipeline(a, b, c) -> (y, z) {
      y = product<| 512, 512, 512>(a, b);
      z = product<| 512, 512, 512>(a, c)
    }
    product<| I, J, K> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o
      md_hom<I,J,K>( f, (++, ++, +) ) o
      inp_view<bf16,bf16>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
    where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) })";
  const Result<Pipeline> both = ParsePipeline(text);
  ASSERT_TRUE(both.ok()) << both.status();
  const double one = 512.0 * 512 * 512 / (132 * 2048 * 1.98e9) * 1e9;
  // 128 more a cycle on vectors.
  EXPECT_NEAR(TimeOf(OnH100(*both), "matrix units"), 2 * one * 2048 / (2048 + 128), 1e-3 * one);
}

}  // namespace
}  // namespace mdh::problem_bound_test

#include "tuner/measure/problem.h"

#include <algorithm>
#include <cstring>

#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/hand_written.h"
#include "tuner/measure/sampled_references.h"

namespace mdh::problem_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSecondOfRun = 1'000'000'000;

class ProblemTest : public ::testing::Test {
 protected:
  // A plain kernel that is never done in time.
  ProblemOptions TooSlow(int64_t time_limit_ns) {
    return {.time_limit_ns = time_limit_ns,
            .on_step = [this](ProblemStep step) { steps_.push_back(step); },
            .plain_kernel = [this](const Problem&, int64_t run_limit_ns)
                -> Result<std::vector<std::vector<std::byte>>> {
              run_limits_.push_back(run_limit_ns);
              return absl::DeadlineExceededError("too slow");
            }};
  }
  std::vector<ProblemStep> steps_;
  std::vector<int64_t> run_limits_;
};

TEST_F(ProblemTest, AReferenceThatTakesTooLongIsSampled) {
  const Expression matmul = MatMulExpression(211, 203, 199);  // 8.5 million points
  const auto problem = Problem::Create(matmul, TooSlow(12 * kSecondOfRun));
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(run_limits_, ElementsAre(2 * kSecondOfRun));
  EXPECT_THAT(steps_, ElementsAre(ProblemStep::kInputs, ProblemStep::kReference));
  const ReferenceBuffer& reference = (*problem)->references()[0];
  EXPECT_EQ(reference.check, ResultCheck::kSamples);
  EXPECT_GT(reference.samples.size(), 4u);
  // All corners of the result.
  std::vector<int64_t> first;
  for (size_t s = 0; s < 4; ++s) first.push_back(reference.samples[s].element);
  EXPECT_THAT(first, ElementsAre(0, 210 * 203, 202, 211 * 203 - 1));
  EXPECT_GT((*problem)->LeastLoopNestTime(), 0);
}

TEST_F(ProblemTest, WhatTookTooLongIsNotTriedAgain) {
  const Expression matmul = MatMulExpression(211, 203, 199);
  auto first = Problem::Create(matmul, TooSlow(12 * kSecondOfRun));
  ASSERT_TRUE(first.ok()) << first.status();
  ProblemOptions less = TooSlow(6 * kSecondOfRun);
  less.seed = 2;
  const auto second = Problem::Create(matmul, less, *std::move(first));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(run_limits_, ElementsAre(2 * kSecondOfRun));
  EXPECT_EQ((*second)->references()[0].check, ResultCheck::kSamples);
}

// Of few different values the largest one of every row is the same.
TEST_F(ProblemTest, WhichInputsTellRightFromWrongIsFoundOutOnce) {
  constexpr char kLargest[] =
      "largest := out_view<fp32,fp32>( m: (i,k) -> (i), n: (i,k) -> (i) ) o md_hom<16,2000>( f, "
      "(++, combine) ) o inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> (m, n) { m = x; n = 1 "
      "}, "
      "combine(a, n, b, o) -> (m, s) { m = max(a, b); s = n + o }";
  const Expression largest = *ParseExpression(kLargest);
  auto first = Problem::Create(largest, TooSlow(0));
  ASSERT_TRUE(first.ok()) << first.status();
  const auto tried = std::ranges::count(steps_, ProblemStep::kInputs);
  EXPECT_GT(tried, 1);
  steps_.clear();
  ProblemOptions other = TooSlow(0);
  other.seed = 2;
  auto second = Problem::Create(largest, other, *std::move(first));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(steps_, ElementsAre(ProblemStep::kInputs, ProblemStep::kReference));
  // Under another policy others may do.
  steps_.clear();
  other.numerics.policy = NumericsPolicy::kExactOrder;
  const auto third = Problem::Create(largest, other, *std::move(second));
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ(std::ranges::count(steps_, ProblemStep::kInputs), tried);
}

TEST_F(ProblemTest, ASumThatIsTooLongForTheInterpreterIsNotCompared) {
  const Expression row = MatMulExpression(1, 1, 10'000'000);
  const auto problem = Problem::Create(row, TooSlow(3 * kSecondOfRun));
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ((*problem)->references()[0].check, ResultCheck::kNothing);
}

TEST_F(ProblemTest, InputsThatCannotBeDrawnInTimeAreAnError) {
  const Status status = Problem::Create(AddExpression(20'000'000), TooSlow(2)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the inputs of add, 160000000 bytes, cannot be drawn within"));
}

TEST_F(ProblemTest, WithoutALimitErrorsOfThePlainKernelStay) {
  ProblemOptions options = TooSlow(0);
  options.plain_kernel = [](const Problem&,
                            int64_t run_limit_ns) -> Result<std::vector<std::vector<std::byte>>> {
    EXPECT_EQ(run_limit_ns, 0);
    return absl::CancelledError("cancelled");
  };
  EXPECT_EQ(Problem::Create(AddExpression(2'000'000), options).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(SampledReferences, AreWhatTheInterpreterSays) {
  const Expression matmul = MatMulExpression(3, 2, 5);
  std::vector<float> a(15), b(10);
  for (size_t n = 0; n < a.size(); ++n) a[n] = static_cast<float>(n % 4);
  for (size_t n = 0; n < b.size(); ++n) b[n] = static_cast<float>(n % 3);
  const std::vector<const std::byte*> inputs = {reinterpret_cast<const std::byte*>(a.data()),
                                                reinterpret_cast<const std::byte*>(b.data())};
  const auto references =
      SampleReferences(matmul, inputs, {.time_limit_ns = 60 * kSecondOfRun}, kDefaultTolerance);
  // More were allowed: every element, some after others.
  EXPECT_EQ(references[0].samples.size(), 6u);
  std::vector<float> got(6, -1);
  EXPECT_TRUE(
      FirstMismatch(references[0], reinterpret_cast<const std::byte*>(got.data()), std::byte{0xFF})
          .has_value());
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) {
      got[2 * i + j] = 0;
      for (int k = 0; k < 5; ++k) got[2 * i + j] += a[5 * i + k] * b[2 * k + j];
    }
  }
  EXPECT_EQ(
      FirstMismatch(references[0], reinterpret_cast<const std::byte*>(got.data()), std::byte{0xFF}),
      std::nullopt);
}

}  // namespace
}  // namespace mdh::problem_test

// What kernels of pipelines are compared with.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tuner/measure/problem.h"

namespace mdh::pipeline_problem_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A sum in halves that does not fit into them, and is scaled.
constexpr char kHalves[] =
    R"(means<| N = 8> := pipeline(x) -> y { s = sums<| N>(x); y = scale<| N>(s) }
sums<| N> := out_view<fp16>( s: (i,k) -> (i) ) o md_hom<N,64>( f, (++,+) ) o
  inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> s : fp32 { s = x * 1.001 }
scale<| N> := out_view<fp32>( y: (i) -> (i) ) o md_hom<N>( f, (++) ) o
  inp_view<fp16>( s: (i) -> (i) ) where f(s) -> y { y = fp32(s) / 64 }
)";

std::vector<BufferBytes> InputsOf(const Problem& problem) {
  std::vector<BufferBytes> inputs;
  for (const InputBuffer& input : problem.MakeRun("", "", 1, {}).inputs) {
    inputs.emplace_back(input.data, input.data + input.size_bytes);
  }
  return inputs;
}

std::unique_ptr<Problem> ProblemOf(const Pipeline& pipeline, const Numerics& numerics = {}) {
  Result<std::unique_ptr<Problem>> problem = Problem::Create(pipeline, {.numerics = numerics});
  EXPECT_TRUE(problem.ok()) << problem.status();
  return *std::move(problem);
}

bool IsRight(const ReferenceBuffer& reference, const BufferBytes& got) {
  return !FirstMismatch(reference, got.data(), std::byte{0xa5}).has_value();
}

float& ElementOf(BufferBytes& bytes, size_t element) {
  return reinterpret_cast<float*>(bytes.data())[element];
}

TEST(PipelineProblemTest, IntermediatesMayBeRoundedOrNot) {
  const Pipeline pipeline = *ParsePipeline(kHalves);
  const auto problem = ProblemOf(pipeline);
  EXPECT_TRUE(problem->is_of_pipeline());
  EXPECT_EQ(problem->LeastLoopNestTime(), 0);
  const std::vector<BufferBytes> inputs = InputsOf(*problem);
  ASSERT_EQ(inputs.size(), 1u);
  ASSERT_EQ(problem->references().size(), 1u);
  const ReferenceBuffer& reference = problem->references()[0];
  EXPECT_EQ(reference.name, "y");
  const BufferBytes rounded = (*InterpretPipeline(pipeline, inputs))[0];
  const BufferBytes wide = (*InterpretPipeline(pipeline, inputs, Intermediates::kWide))[0];
  EXPECT_NE(rounded, wide);
  EXPECT_TRUE(IsRight(reference, rounded));
  EXPECT_TRUE(IsRight(reference, wide));
  BufferBytes between = wide;
  for (size_t e = 0; e < 8; ++e) {
    BufferBytes other = rounded;
    ElementOf(between, e) = (ElementOf(between, e) + ElementOf(other, e)) / 2;
  }
  EXPECT_TRUE(IsRight(reference, between));
  BufferBytes wrong = wide;
  ElementOf(wrong, 3) *= 1.2F;
  ElementOf(wrong, 3) += 0.3F;
  const auto mismatch = FirstMismatch(reference, wrong.data(), std::byte{0xa5});
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_EQ(mismatch->element, 3);
}

TEST(PipelineProblemTest, ResultsThatMustBeExactAre) {
  const Pipeline layer = *ParsePipeline(kLayer);
  const auto problem = ProblemOf(layer, {.policy = NumericsPolicy::kExactOrder});
  const BufferBytes right = (*InterpretPipeline(layer, InputsOf(*problem), Intermediates::kRounded,
                                                Accumulation::kDeclared))[0];
  EXPECT_TRUE(IsRight(problem->references()[0], right));
  for (size_t e = 0; e < 20; ++e) {
    BufferBytes wrong = right;
    ElementOf(wrong, e) += 1e-4F;
    EXPECT_FALSE(IsRight(problem->references()[0], wrong)) << e;
  }
}

TEST(PipelineProblemTest, LargeStepsAreComputedByThePlainKernelOneAfterTheOther) {
  const Pipeline large = *ParsePipeline(kLayer, {{"M", "120"}, {"N", "110"}, {"K", "100"}});
  std::vector<std::string> computed;
  const ProblemOptions options = {
      .check_sample = false, .plain_kernel = [&](const Problem& problem, int64_t) {
        computed.push_back(problem.expression().name());
        return std::vector<std::vector<std::byte>>{
            std::vector<std::byte>(problem.expression().outputs()[0].size_bytes())};
      }};
  // Of nothing but zeros a bias is left.
  ASSERT_TRUE(Problem::Create(large, options).ok());
  ASSERT_GE(computed.size(), 3u);
  EXPECT_EQ(computed[0], "matmul");
}

TEST(PipelineProblemTest, WhatTakesTooLongIsAnError) {
  const Pipeline large = *ParsePipeline(kLayer, {{"M", "120"}, {"N", "110"}, {"K", "100"}});
  const ProblemOptions options = {
      .plain_kernel = [](const Problem&, int64_t) -> Result<std::vector<std::vector<std::byte>>> {
        return absl::DeadlineExceededError("too slow");
      }};
  const Status status = Problem::Create(large, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("pipeline 'layer' are compared with cannot be computed in time"));
}

// Of 12 million points in the product alone.
const Bindings kLargeSizes = {{"M", "310"}, {"N", "205"}, {"K", "200"}};

ProblemOptions InAnEighth(int64_t sampling_ns) {
  return {
      .time_limit_ns = 8 * sampling_ns,
      .plain_kernel = [](const Problem&, int64_t) -> Result<std::vector<std::vector<std::byte>>> {
        return absl::DeadlineExceededError("too slow");
      }};
}

TEST(PipelineProblemTest, WithALimitOnlySomeResultsAreComputed) {
  const Pipeline large = *ParsePipeline(kLayer, kLargeSizes);
  const auto problem = Problem::Create(large, InAnEighth(150'000'000));
  ASSERT_TRUE(problem.ok()) << problem.status();
  ASSERT_EQ((*problem)->references().size(), 1u);
  const ReferenceBuffer& reference = (*problem)->references()[0];
  EXPECT_EQ(reference.name, "y");
  EXPECT_EQ(reference.check, ResultCheck::kSamples);
  EXPECT_GT(reference.samples.size(), 20u);
  // Corners are among them.
  for (const int64_t corner : {0, 204, 309 * 205, 310 * 205 - 1}) {
    EXPECT_TRUE(std::any_of(reference.samples.begin(), reference.samples.end(),
                            [&](const ReferenceSample& s) { return s.element == corner; }))
        << corner;
  }
  EXPECT_EQ(reference.variants.size(), 2u);
}

// What a kernel that is wrong at few points gives: seen at samples, and nowhere else.
TEST(PipelineProblemTest, SamplesSeeWhatIsWrongWhereTheyAre) {
  const Pipeline large = *ParsePipeline(kLayer, kLargeSizes);
  const auto problem = *Problem::Create(large, InAnEighth(150'000'000));
  const ReferenceBuffer& reference = problem->references()[0];
  BufferBytes right(310 * 205 * sizeof(float));
  for (const ReferenceSample& sample : reference.samples) {
    ElementOf(right, static_cast<size_t>(sample.element)) =
        static_cast<float>(sample.value.as_double());
  }
  EXPECT_TRUE(IsRight(reference, right));
  std::set<int64_t> sampled;
  for (const ReferenceSample& sample : reference.samples) {
    sampled.insert(sample.element);
    BufferBytes wrong = right;
    ElementOf(wrong, static_cast<size_t>(sample.element)) += 2;
    const auto mismatch = FirstMismatch(reference, wrong.data(), std::byte{0xa5});
    ASSERT_TRUE(mismatch.has_value()) << sample.element;
    EXPECT_EQ(mismatch->element, sample.element);
  }
  // A whole row, a whole column, every 64th element: each has samples in it.
  const auto spoil = [&](auto is_spoiled) {
    BufferBytes wrong = right;
    for (int64_t e = 0; e < 310 * 205; ++e) {
      if (is_spoiled(e)) ElementOf(wrong, static_cast<size_t>(e)) += 2;
    }
    return wrong;
  };
  EXPECT_FALSE(IsRight(reference, spoil([](int64_t e) { return e / 205 == 309; })));
  EXPECT_FALSE(IsRight(reference, spoil([](int64_t e) { return e % 205 == 204; })));
  EXPECT_FALSE(IsRight(reference, spoil([](int64_t e) { return e / 205 >= 288; })));
  EXPECT_TRUE(IsRight(reference, spoil([&](int64_t e) { return sampled.count(e) == 0; })));
}

TEST(PipelineProblemTest, WhereNotOneResultFitsNothingIsCompared) {
  const Pipeline long_sums = *ParsePipeline(kLayer, {{"M", "2"}, {"N", "3"}, {"K", "4000000"}});
  const auto problem = Problem::Create(long_sums, InAnEighth(1'000'000'000));
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ((*problem)->references()[0].check, ResultCheck::kNothing);
}

// Few steps of few points are computed as a whole, whatever the limit.
TEST(PipelineProblemTest, WhatIsSmallIsComputedAsAWhole) {
  const auto problem = Problem::Create(*ParsePipeline(kLayer), {.time_limit_ns = 1'000'000'000});
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ((*problem)->references()[0].check, ResultCheck::kWhole);
}

TEST(PipelineProblemTest, DistributionsAreThoseOfTheFirstReduction) {
  const Pipeline centred = *ParsePipeline(kCentred);
  EXPECT_EQ(DistributionsFor(centred), DistributionsFor(centred.steps()[0].expression));
}

// Powers of scores relative to the largest of those that a mask leaves; of row 0 it leaves none.
constexpr char kMasked[] = R"(masked := pipeline(x) -> p { m = largest(x); p = powers(x, m) }
largest := out_view<fp32>( m: (i,j) -> (i) ) o md_hom<8,16>( f, (++, max) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> m { m = j < i ? x : -inf }
powers := out_view<fp32>( p: (i,j) -> (i,j) ) o md_hom<8,16>( f, (++, ++) ) o
  inp_view<fp32,fp32>( x: (i,j) -> (i,j), m: (i,j) -> (i) )
where f(x, m) -> p { p = exp2((j < i ? x : -inf) - m) }
)";

TEST(PipelineProblemTest, NanMustBeWhereItIsForAllInputs) {
  const Pipeline pipeline = *ParsePipeline(kMasked);
  const auto problem = ProblemOf(pipeline);
  const ReferenceBuffer& reference = problem->references()[0];
  BufferBytes got = (*InterpretPipeline(pipeline, InputsOf(*problem)))[0];
  for (size_t j = 0; j < 16; ++j) ASSERT_TRUE(std::isnan(ElementOf(got, j))) << j;
  EXPECT_TRUE(IsRight(reference, got));
  const float right = std::exchange(ElementOf(got, 3), 0.0F);
  EXPECT_FALSE(IsRight(reference, got));
  ElementOf(got, 3) = std::exchange(ElementOf(got, 16 * 5 + 2), right);
  EXPECT_FALSE(IsRight(reference, got));
}

TEST(PipelineProblemTest, NothingButNanIsRefused) {
  constexpr char kRoots[] = R"(roots := pipeline(x) -> y { s = less(x); y = root(s) }
less := out_view<fp32>( s: (i) -> (i) ) o md_hom<8>( f, (++) ) o
  inp_view<fp32>( x: (i) -> (i) ) where f(x) -> s { s = x - 3 }
root := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o
  inp_view<fp32>( s: (i) -> (i) ) where f(s) -> y { y = sqrt(s) }
)";
  const Status status = Problem::Create(*ParsePipeline(kRoots), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("roots is NaN everywhere"));
}

// The errors that kernels of the first step may have are found in results of the second.
TEST(PipelineProblemTest, ErrorsOfStepsArePassedOn) {
  constexpr char kDifference[] =
      R"(d<| N = 16> := pipeline(x) -> y { s = sums<| N>(x); y = less<| N>(s) }
sums<| N> := out_view<fp32>( s: (i,k) -> (i) ) o md_hom<N,64>( f, (++,+) ) o
  inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> s { s = x + 1000 }
less<| N> := out_view<fp32>( y: (i) -> (i) ) o md_hom<N>( f, (++) ) o
  inp_view<fp32>( s: (i) -> (i) ) where f(s) -> y { y = s - 64000 }
)";
  const Pipeline pipeline = *ParsePipeline(kDifference);
  const auto problem = ProblemOf(pipeline);
  BufferBytes off = (*InterpretPipeline(pipeline, InputsOf(*problem)))[0];
  // A few units in the last place of the sum.
  for (size_t e = 0; e < 16; ++e) ElementOf(off, e) += 0.03125F;
  EXPECT_TRUE(IsRight(problem->references()[0], off));
  ElementOf(off, 5) += 8;
  EXPECT_FALSE(IsRight(problem->references()[0], off));
}

}  // namespace
}  // namespace mdh::pipeline_problem_test

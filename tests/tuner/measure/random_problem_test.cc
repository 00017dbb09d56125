// Problems of random pipelines and of the steps that are tuned for them: there is a reference, and
// whoever rounds in other places is right.
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/text/computation_text.h"
#include "core/text/pipeline_parser.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/fresh_seed.h"
#include "tests/random_rows.h"
#include "tests/random_scaled.h"
#include "tests/random_stencils.h"
#include "tests/sanitized.h"
#include "tuner/measure/problem.h"

namespace mdh::random_problem_test {
namespace {

constexpr int64_t kPoints = 8192;

Pipeline RandomOf(Rng& rng, int number) {
  switch (number % 3) {
    case 0:
      return RandomRowPipeline(rng, kPoints);
    case 1:
      return RandomScaledPipeline(rng, /*may_mask=*/true, kPoints);
    default:
      return RandomStencilChain(rng, kPoints);
  }
}

std::vector<BufferBytes> InputsOf(const Problem& problem) {
  std::vector<BufferBytes> inputs;
  for (const InputBuffer& input : problem.MakeRun("", "", 1, {}).inputs) {
    inputs.emplace_back(input.data, input.data + input.size_bytes);
  }
  return inputs;
}

// Sums in the types that are declared, in the order of the points.
Result<std::vector<BufferBytes>> Rounded(const Computation& computation,
                                         const std::vector<BufferBytes>& inputs) {
  if (const auto* const expression = std::get_if<Expression>(&computation)) {
    return Interpret(*expression, inputs, Accumulation::kDeclared);
  }
  return InterpretPipeline(std::get<Pipeline>(computation), inputs, Intermediates::kRounded,
                           Accumulation::kDeclared);
}

void ExpectRightWhenRounded(const Computation& computation, uint64_t seed) {
  const auto problem = Problem::Create(computation, {.seed = seed});
  ASSERT_TRUE(problem.ok()) << problem.status() << "\n" << ToText(computation);
  const auto outputs = Rounded(computation, InputsOf(**problem));
  ASSERT_TRUE(outputs.ok()) << outputs.status() << "\n" << ToText(computation);
  const std::vector<ReferenceBuffer>& references = (*problem)->references();
  for (size_t n = 0; n < references.size(); ++n) {
    const std::optional<Mismatch> mismatch =
        FirstMismatch(references[n], (*outputs)[n].data(), std::byte{0});
    EXPECT_EQ(mismatch, std::nullopt)
        << references[n].name << "[" << mismatch->element << "]: expected " << mismatch->expected
        << ", got " << mismatch->got << ", seed " << seed << "\n"
        << ToText(computation);
  }
}

TEST(RandomProblem, IsRightWhereOthersRoundElsewhere) {
  const uint64_t seed = FreshSeed();
  for (int n = 0; n < TriedCases(24); ++n) {
    Rng rng(seed + static_cast<uint64_t>(n));
    const Pipeline pipeline = RandomOf(rng, n);
    ExpectRightWhenRounded(pipeline, rng());
    for (const SearchedStep& step : PlanSearch(pipeline).steps) {
      ExpectRightWhenRounded(step.expression, rng());
    }
  }
}

// Sums of equal values are whole numbers in one order and a little less in another: what is rounded
// down is further off than any error, and so is all that is computed from it.
TEST(RandomProblem, StoreFunctionsMayJumpBetweenWhatSumsMayBe) {
  int jumped = 0;
  for (const char* const value : {"0.1", "0.2", "0.3", "0.4", "0.6", "0.7", "0.8", "0.9"}) {
    const auto pipeline = ParsePipeline(absl::StrCat(
        "jump := pipeline(x, z) -> (y) {\n  s = counts(x);\n  y = scaled(s, z)\n}\n"
        "counts := out_view<fp32>( s: (i,j) -> (i) ) o md_hom<5,70>( f, (++, +), store whole ) o\n"
        "  inp_view<fp32>( x: (i,j) -> (i,j) )\n"
        "where f(x) -> (c: fp32) { c = x > -1000 ? fp32(",
        value,
        ") : fp32(0) },\n      whole(c) -> s { s = floor(c) }\n"
        "scaled := out_view<fp32>( y: (i) -> (i) ) o md_hom<5>( f, (++) ) o\n"
        "  inp_view<fp32,fp32>( s: (i) -> (i), z: (i) -> (i) )\n"
        "where f(s, z) -> y { y = s * z }\n"));
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    ExpectRightWhenRounded(*pipeline, 1);
    const auto problem = Problem::Create(*pipeline, {.seed = 1});
    const auto rounded = Rounded(*pipeline, InputsOf(**problem));
    const std::vector<std::byte>& reference = (*problem)->references()[0].bytes;
    jumped += std::memcmp(reference.data(), (*rounded)[0].data(), reference.size()) != 0 ? 1 : 0;
  }
  EXPECT_GE(jumped, 1);
}

}  // namespace
}  // namespace mdh::random_problem_test

// Problems of random pipelines and of the steps that are tuned for them: there is a reference, and
// whoever rounds in other places is right.
#include <memory>
#include <vector>

#include "core/pipeline/plan/search_plan.h"
#include "core/text/computation_text.h"
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

}  // namespace
}  // namespace mdh::random_problem_test

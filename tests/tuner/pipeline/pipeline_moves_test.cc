// What is tried near whole kernels of a pipeline, and how a search among them ends.
#include "tuner/pipeline/pipeline_moves.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/joint_parameters.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/row_pipelines.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/tuner/recorded_runner.h"
#include "tuner/run/trial_history.h"

namespace mdh::pipeline_moves_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kChain[] =
    R"(chain := pipeline(a, b, c) -> y {
  h = product<| I = 64, J = 48, K = 80>(a, b);
  y = product<| I = 64, J = 40, K = 48>(h, c)
}
product<| I = 4, J = 4, K = 4> :=
  out_view<fp32>( c: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (k,j) )
where f(a, b) -> c { c = a * b }
)";

std::vector<PipelineCandidate> CandidatesOf(const Pipeline& pipeline,
                                            const DeviceDescription& device) {
  Result<std::vector<PipelineCandidate>> candidates = PipelineCandidates(
      pipeline, device, [](const Expression&) { return std::nullopt; },
      {.more = {[](const Pipeline&, const Partition& partition, const DeviceDescription& on,
                   NumericsPolicy numerics, const PipelineParameters&) {
         return JointCandidates(partition, TuningModel(on.kind), on, numerics);
       }}});
  EXPECT_TRUE(candidates.ok()) << candidates.status();
  return *std::move(candidates);
}

Measurement Took(int64_t time_ns) { return RecordedRunner::Ok(time_ns); }

// Asks for so many, each of which has taken a second.
std::vector<PipelineCandidate> Ask(PipelineMoves& moves, size_t most) {
  std::vector<PipelineCandidate> asked;
  while (asked.size() < most) {
    std::optional<PipelineCandidate> next = moves.Next();
    if (!next) break;
    moves.Tell(*next, Took(1'000'000'000));
    asked.push_back(*std::move(next));
  }
  return asked;
}

// Numbers of the steps that are computed in another way.
std::vector<size_t> ChangedSteps(const PipelineCandidate& from, const PipelineCandidate& to) {
  std::vector<size_t> changed;
  for (size_t s = 0; s < from.parameters.steps.size(); ++s) {
    if (from.parameters.steps[s] != to.parameters.steps[s]) changed.push_back(s);
  }
  return changed;
}

class PipelineMovesTest : public ::testing::TestWithParam<bool> {
 protected:
  PipelineMovesTest() {
    if (GetParam()) device_ = *DescribeCudaArchitecture(90);
  }
  DeviceDescription device_ = RecordedRunner().device();
  const Pipeline chain_ = *ParsePipeline(kChain);
  const PipelineCandidate unfused_ = [this] {
    const std::vector<PipelineCandidate> candidates = CandidatesOf(chain_, Device());
    return *std::ranges::find_if(candidates, &PipelineCandidate::is_unfused);
  }();

 private:
  DeviceDescription Device() const {
    return GetParam() ? *DescribeCudaArchitecture(90) : RecordedRunner().device();
  }
};

TEST_P(PipelineMovesTest, StepsAreComputedInOtherWaysOneByOne) {
  PipelineMoves moves(chain_, device_, {});
  EXPECT_FALSE(moves.Next());  // nothing is known yet
  moves.Tell(unfused_, Took(1'000));
  std::set<std::string> kernels = {IdentityOf(unfused_.kernel)};
  std::vector<int> of_step = {0, 0};
  for (const PipelineCandidate& asked : Ask(moves, 60)) {
    EXPECT_TRUE(kernels.insert(IdentityOf(asked.kernel)).second);
    EXPECT_EQ(asked.partition.edges, unfused_.partition.edges);
    const std::vector<size_t> changed = ChangedSteps(unfused_, asked);
    ASSERT_THAT(changed, SizeIs(1));
    ++of_step[changed[0]];
    // What is stored gives the same kernel again.
    const auto again =
        ConfigurePipeline(chain_, device_, *ParsePipelineParameters(ToText(asked.parameters)));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->kernel.source, asked.kernel.source);
  }
  EXPECT_THAT(kernels, SizeIs(61));
  EXPECT_GT(of_step[0], 15);
  EXPECT_GT(of_step[1], 15);
}

TEST_P(PipelineMovesTest, WhatIsFasterIsKeptWhileOtherStepsChange) {
  PipelineMoves moves(chain_, device_, {});
  moves.Tell(unfused_, Took(100'000));
  std::optional<PipelineCandidate> faster = moves.Next();
  ASSERT_TRUE(faster);
  const size_t step = ChangedSteps(unfused_, *faster).at(0);
  moves.Tell(*faster, Took(60'000));
  for (const PipelineCandidate& asked : Ask(moves, 20)) {
    const std::vector<size_t> changed = ChangedSteps(*faster, asked);
    ASSERT_THAT(changed, SizeIs(1));
    if (changed[0] != step) {
      EXPECT_EQ(asked.parameters.steps[step], faster->parameters.steps[step]);
    }
  }
}

TEST_P(PipelineMovesTest, WhatBecameFasterAtOnceIsTriedTogether) {
  PipelineMoves moves(chain_, device_, {});
  moves.Tell(unfused_, Took(100'000));
  // One of each step, both of them changes of the same kernel.
  std::vector<std::optional<PipelineCandidate>> of_step(2);
  while (!of_step[0] || !of_step[1]) {
    std::optional<PipelineCandidate> next = moves.Next();
    ASSERT_TRUE(next);
    std::optional<PipelineCandidate>& own = of_step[ChangedSteps(unfused_, *next).at(0)];
    if (own) {
      moves.Tell(*next, Took(200'000));
    } else {
      own = std::move(next);
    }
  }
  moves.Tell(*of_step[0], Took(80'000));
  moves.Tell(*of_step[1], Took(70'000));
  const std::optional<PipelineCandidate> both = moves.Next();
  ASSERT_TRUE(both);
  for (size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(both->parameters.steps[s], of_step[s]->parameters.steps[s]);
  }
}

TEST_P(PipelineMovesTest, FailuresLeadNowhereAndEndNothing) {
  PipelineMoves moves(chain_, device_, {});
  moves.Tell(unfused_, RecordedRunner::Fail(TrialOutcome::kWrongResult, "y[0] is 1"));
  EXPECT_FALSE(moves.Next());
  moves.Tell(unfused_, Took(1'000));
  for (int n = 0; n < 30; ++n) {
    const std::optional<PipelineCandidate> next = moves.Next();
    ASSERT_TRUE(next);
    ASSERT_THAT(ChangedSteps(unfused_, *next), SizeIs(1));
    moves.Tell(*next, RecordedRunner::Fail(TrialOutcome::kWrongResult, "y[0] is 1"));
  }
}

TEST_P(PipelineMovesTest, NoMoreThanAskedAndTheSameEveryTime) {
  const auto texts = [&] {
    PipelineMoves moves(chain_, device_, {.most = 21});
    moves.Tell(unfused_, Took(1'000));
    std::vector<std::string> asked;
    for (const PipelineCandidate& one : Ask(moves, 100)) asked.push_back(ToText(one.parameters));
    return asked;
  };
  const std::vector<std::string> first = texts();
  EXPECT_THAT(first, SizeIs(20));
  if (!GetParam()) EXPECT_EQ(texts(), first);  // blocks are ranked beside the first trials
}

TEST_P(PipelineMovesTest, WhatIsFarBehindIsNotSearched) {
  const Pipeline layer = *ParsePipeline(kLayer, {{"M", "640"}, {"N", "512"}, {"K", "256"}});
  const std::vector<PipelineCandidate> candidates = CandidatesOf(layer, device_);
  const auto unfused = std::ranges::find_if(candidates, &PipelineCandidate::is_unfused);
  const auto fused = std::ranges::find_if_not(candidates, &PipelineCandidate::is_unfused);
  ASSERT_TRUE(unfused != candidates.end() && fused != candidates.end());
  const auto turns_of_unfused = [&](int64_t unfused_ns) {
    PipelineMoves moves(layer, device_, {});
    moves.Tell(*fused, Took(100'000));
    moves.Tell(*unfused, Took(unfused_ns));
    const std::vector<PipelineCandidate> asked = Ask(moves, 40);
    return std::ranges::count_if(asked, &PipelineCandidate::is_unfused);
  };
  EXPECT_EQ(turns_of_unfused(500'000), 0);
  EXPECT_GT(turns_of_unfused(110'000), 5);
  EXPECT_LT(turns_of_unfused(140'000), turns_of_unfused(110'000));
}

TEST_P(PipelineMovesTest, OfGroupsOtherPartsAndStepsAreTriedFromTheFastestOn) {
  const Pipeline rows = *ParsePipeline(kSoftMax, {{"M", "64"}, {"N", "32"}});
  const std::vector<PipelineCandidate> candidates = CandidatesOf(rows, device_);
  const auto grouped = std::ranges::find_if(candidates, [](const PipelineCandidate& candidate) {
    return !candidate.parameters.groups.empty();
  });
  ASSERT_NE(grouped, candidates.end());
  PipelineMoves moves(rows, device_, {});
  for (const PipelineCandidate& candidate : candidates) moves.Tell(candidate, Took(90'000));
  moves.Tell(*grouped, Took(10'000));
  int other_groups = 0;
  std::set<std::string> kernels;
  for (const PipelineCandidate& asked : Ask(moves, 100)) {
    EXPECT_TRUE(kernels.insert(IdentityOf(asked.kernel)).second);
    EXPECT_NE(asked.parameters, grouped->parameters);
    EXPECT_EQ(asked.steps.size(), asked.parameters.steps.size());
    if (asked.parameters.groups != grouped->parameters.groups) ++other_groups;
  }
  EXPECT_GT(other_groups, 0);
  EXPECT_THAT(Ask(moves, 1), IsEmpty());
}

TEST_P(PipelineMovesTest, StepsKeepToTheLinesOfASchedule) {
  const Pipeline layer = *ParsePipeline(kLayer, {{"M", "640"}, {"N", "512"}, {"K", "256"}});
  const std::string line = GetParam() ? "BLK: tile i=64" : "L1: tile k=2";
  const auto named = PipelineSchedule::Parse("edge h -> y = stage\nstep matmul:\n" + line, layer,
                                             TuningModel(device_.kind));
  ASSERT_TRUE(named.ok()) << named.status();
  const Result<std::vector<PipelineCandidate>> kept = PipelineCandidates(
      layer, device_, [](const Expression&) { return std::nullopt; }, {.schedule = &*named});
  ASSERT_TRUE(kept.ok()) << kept.status();
  PipelineMoves moves(layer, device_, {.schedule = &*named});
  for (const PipelineCandidate& candidate : *kept) moves.Tell(candidate, Took(1'000));
  const std::vector<PipelineCandidate> asked = Ask(moves, 12);
  EXPECT_FALSE(asked.empty());
  for (const PipelineCandidate& one : asked) EXPECT_TRUE(named->Allows(one.parameters).ok());
}

INSTANTIATE_TEST_SUITE_P(Devices, PipelineMovesTest, ::testing::Bool(),
                         [](const auto& device) { return device.param ? "Cuda" : "Cpu"; });

}  // namespace
}  // namespace mdh::pipeline_moves_test

// Candidates of a pipeline, and their turns on a device that does what the test says.
#include "tuner/run/pipeline_turns.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "codegen/choose/default_parameters.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/tuner/recorded_runner.h"
#include "tuner/process/clock.h"
#include "tuner/run/trial_history.h"

namespace mdh::pipeline_turns_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class PipelineTurnsTest : public ::testing::Test {
 protected:
  // Parameters that rules do not give.
  KnownStep Known(const Expression& step, int64_t time_ns) {
    TuningParameters parameters =
        DefaultParameters(step, TuningModel(DeviceKind::kCpu), runner_.device_);
    parameters.compiler = Compiler::kClang;
    return {parameters, time_ns, "records/" + step.name()};
  }
  std::vector<PipelineCandidate> Candidates(PipelineCandidateOptions options = {}) {
    const Result<std::vector<PipelineCandidate>> candidates = PipelineCandidates(
        layer_, runner_.device_,
        [this](const Expression& step) -> std::optional<KnownStep> { return Known(step, 1'000); },
        options);
    EXPECT_TRUE(candidates.ok()) << candidates.status();
    return *candidates;
  }
  // `times`: of the candidates; 0: its result is wrong, -1: the deadline comes first.
  Result<PipelineTurns> Measure(const std::vector<int64_t>& times) {
    std::vector<PipelineCandidate> candidates = Candidates();
    EXPECT_EQ(candidates.size(), times.size());
    std::map<std::string, int64_t> time_of;
    for (size_t c = 0; c < candidates.size(); ++c) {
      time_of[IdentityOf(candidates[c].kernel)] = times[c];
    }
    runner_.answer_ = [time_of](const Kernel& kernel) {
      const int64_t time_ns = time_of.at(IdentityOf(kernel));
      return time_ns < 0   ? RecordedRunner::Fail(TrialOutcome::kTimeout, "cancelled")
             : time_ns > 0 ? RecordedRunner::Ok(time_ns)
                           : RecordedRunner::Fail(TrialOutcome::kWrongResult, "y[0] is 1");
    };
    runner_.problems_ = 1;  // kernels come again
    return MeasureInTurns(runner_, layer_, std::move(candidates),
                          {.abort = AbortCondition::Duration(kDuration), .patience_ns = 0},
                          cancelled_);
  }

  static constexpr int64_t kDuration = 2'000'000'000;
  Pipeline layer_ = *ParsePipeline(kLayer, {{"M", "640"}, {"N", "512"}, {"K", "256"}});
  RecordedRunner runner_;
  std::atomic<bool> cancelled_ = false;
};

TEST_F(PipelineTurnsTest, RulesTheUnfusedOneAndFusedOnesAreCandidates) {
  const std::vector<PipelineCandidate> candidates = Candidates();
  ASSERT_THAT(candidates, SizeIs(3));
  EXPECT_FALSE(candidates[0].is_unfused());
  EXPECT_EQ(candidates[0].steps[0].record, "");
  EXPECT_EQ(candidates[0].steps_time_ns(), 0);
  EXPECT_TRUE(candidates[1].is_unfused());
  EXPECT_EQ(candidates[1].steps_time_ns(), 2'000);
  EXPECT_EQ(candidates[1].steps[1].record, "records/activation");
  EXPECT_FALSE(candidates[2].is_unfused());
  EXPECT_EQ(candidates[2].steps_time_ns(), 1'000);
  for (const PipelineCandidate& candidate : candidates) {
    // What is stored gives the same kernel again.
    const auto again = ConfigurePipeline(layer_, runner_.device_,
                                         *ParsePipelineParameters(ToText(candidate.parameters)));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->kernel.source, candidate.kernel.source);
    EXPECT_EQ(again->partition.edges, candidate.partition.edges);
  }
}

TEST_F(PipelineTurnsTest, WhatIsKnownMayBeWhatRulesSay) {
  const auto candidates = PipelineCandidates(
      layer_, runner_.device_,
      [this](const Expression& step) -> std::optional<KnownStep> {
        return KnownStep{DefaultParameters(step, TuningModel(DeviceKind::kCpu), runner_.device_),
                         1'000, "records/" + step.name()};
      },
      {});
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  ASSERT_THAT(*candidates, SizeIs(2));
  EXPECT_EQ((*candidates)[0].steps_time_ns(), 1'000);
  EXPECT_EQ((*candidates)[0].steps[0].record, "records/matmul");
}

TEST_F(PipelineTurnsTest, MoreWaysToComputeAPartitionAreCandidates) {
  PipelineCandidateOptions options;
  options.most_more = 2;
  options.more.push_back([](const Pipeline&, const Partition&, const DeviceDescription&,
                            NumericsPolicy, const PipelineParameters& known) {
    std::vector<PipelineParameters> more;
    for (const int threads : {2, 3, 4}) {
      more.push_back(known);
      for (TuningParameters& step : more.back().steps) step.threads = threads;
    }
    return more;
  });
  EXPECT_THAT(Candidates(options), SizeIs(3 + 2 * 2));
}

TEST_F(PipelineTurnsTest, WhatTheGeneratorRefusesIsLeftOut) {
  PipelineCandidateOptions options;
  options.more.push_back([](const Pipeline&, const Partition&, const DeviceDescription&,
                            NumericsPolicy, PipelineParameters known) {
    known.steps.front().system_model = "none";
    return std::vector<PipelineParameters>{known};
  });
  EXPECT_THAT(Candidates(options), SizeIs(3));
  DeviceDescription gpu;
  gpu.kind = DeviceKind::kCuda;
  PipelineParameters parameters = Candidates()[1].parameters;
  EXPECT_EQ(ConfigurePipeline(layer_, gpu, parameters).status().code(),
            absl::StatusCode::kInvalidArgument);
  parameters.edges.clear();
  EXPECT_THAT(
      std::string(ConfigurePipeline(layer_, runner_.device_, parameters).status().message()),
      HasSubstr("no partition of pipeline 'layer' has such edges"));
}

TEST_F(PipelineTurnsTest, TheFastestIsTheBest) {
  const Result<PipelineTurns> turns = Measure({3'000, 2'000, 1'000});
  ASSERT_TRUE(turns.ok()) << turns.status();
  EXPECT_EQ(turns->best().measurement.time_ns(), 1'001);
  EXPECT_FALSE(turns->best().candidate.is_unfused());
  EXPECT_EQ(turns->unfused_ns, 2'001);
  EXPECT_EQ(turns->default_ns, 3'001);
  EXPECT_EQ(runner_.problems_, 2);
}

TEST_F(PipelineTurnsTest, FusedNeverLoses) {
  const Result<PipelineTurns> turns = Measure({3'000, 1'000, 2'000});
  ASSERT_TRUE(turns.ok()) << turns.status();
  EXPECT_TRUE(turns->best().candidate.is_unfused());
  EXPECT_EQ(turns->best().measurement.time_ns(), turns->unfused_ns);
}

TEST_F(PipelineTurnsTest, AWrongKernelIsThrownOutAndTheNextIsTaken) {
  const Result<PipelineTurns> turns = Measure({3'000, 2'000, 0});
  ASSERT_TRUE(turns.ok()) << turns.status();
  EXPECT_TRUE(turns->best().candidate.is_unfused());
  EXPECT_EQ(turns->measured.back().measurement.outcome, TrialOutcome::kWrongResult);
  EXPECT_EQ(Measure({3'000, 0, 0})->unfused_ns, 0);
}

TEST_F(PipelineTurnsTest, AtTheDeadlineWhatWasMeasuredCounts) {
  const int64_t start_ns = NowNs();
  const Result<PipelineTurns> turns = Measure({3'000, 2'000, -1});
  ASSERT_TRUE(turns.ok()) << turns.status();
  EXPECT_TRUE(turns->best().candidate.is_unfused());
  EXPECT_EQ(turns->best().measurement.time_ns(), 2'001);
  EXPECT_EQ(turns->measured.back().measurement.reason, "cancelled");
  // For the reference, for the turns, and none for who has the device next.
  ASSERT_THAT(runner_.deadlines_ns_, SizeIs(3));
  EXPECT_GE(runner_.deadlines_ns_[0], start_ns + kDuration);
  EXPECT_LT(runner_.deadlines_ns_[0], NowNs() + kDuration);
  EXPECT_LT(runner_.deadlines_ns_[1], NowNs() + kDuration + kMostOverrunNs);
  EXPECT_GE(runner_.deadlines_ns_[1], start_ns + kDuration);
  EXPECT_EQ(runner_.deadlines_ns_[2], 0);
}

// The same in so many threads.
PipelineCandidate WithThreads(const Pipeline& pipeline, const DeviceDescription& device,
                              const PipelineCandidate& from, int threads) {
  PipelineParameters parameters = from.parameters;
  for (TuningParameters& step : parameters.steps) step.threads = threads;
  ConfiguredPipeline configured = *ConfigurePipeline(pipeline, device, parameters);
  return {from.partition, parameters, from.steps, std::move(configured.kernel)};
}

// Numbers of threads next to the fastest ones that were told.
class OtherThreads final : public MorePipelines {
 public:
  OtherThreads(const Pipeline& pipeline, DeviceDescription device, int most)
      : pipeline_(pipeline), device_(std::move(device)), most_(most) {}

  std::optional<PipelineCandidate> Next() override {
    ++asked_;
    for (const int other : {ThreadsOf(*best_) + 1, ThreadsOf(*best_) - 1}) {
      if (other < 1 || other > most_ || !given_.insert(other).second) continue;
      return WithThreads(pipeline_, device_, *best_, other);
    }
    return std::nullopt;
  }
  void Tell(const PipelineCandidate& candidate, const Measurement& measurement) override {
    const int64_t time_ns = SearchTime(measurement);
    told_.push_back(time_ns);
    if (time_ns == 0 || (best_ns_ > 0 && time_ns >= best_ns_)) return;
    best_ = candidate;
    best_ns_ = time_ns;
    given_.insert(ThreadsOf(candidate));
  }
  static int ThreadsOf(const PipelineCandidate& candidate) {
    return candidate.parameters.steps.front().threads;
  }

  int asked_ = 0;
  std::vector<int64_t> told_;

 private:
  const Pipeline& pipeline_;
  const DeviceDescription device_;
  const int most_;
  std::optional<PipelineCandidate> best_;
  int64_t best_ns_ = 0;
  std::set<int> given_;
};

class PipelineSearchTest : public PipelineTurnsTest {
 protected:
  // From candidates with two threads each: the unfused one takes 9 us, others 10 us by their
  // threads; `time_of` of a kernel with more than two.
  Result<PipelineTurns> SearchFromTwoThreads(
      OtherThreads& more, const std::function<Measurement(int threads)>& answer_of) {
    std::vector<PipelineCandidate> candidates = Candidates();
    std::map<std::string, Measurement> known;
    for (PipelineCandidate& candidate : candidates) {
      for (const int threads : {1, 3, 4, 5, 6}) {
        known[IdentityOf(WithThreads(layer_, runner_.device_, candidate, threads).kernel)] =
            answer_of(threads);
      }
      candidate = WithThreads(layer_, runner_.device_, candidate, 2);
      known[IdentityOf(candidate.kernel)] =
          RecordedRunner::Ok(candidate.is_unfused() ? 9'000 : 5'000);
    }
    given_ = std::ssize(candidates);
    runner_.answer_ = [known](const Kernel& kernel) { return known.at(IdentityOf(kernel)); };
    runner_.problems_ = 1;
    return MeasureInTurns(runner_, layer_, std::move(candidates),
                          {.abort = AbortCondition::Duration(60'000'000'000), .patience_ns = 0},
                          cancelled_, &more);
  }

  static constexpr int kMostThreads = 6;
  int64_t given_ = 0;
};

TEST_F(PipelineSearchTest, GoesFromTheFastestOnAsLongAsThereIsSomethingToTry) {
  OtherThreads more(layer_, runner_.device_, kMostThreads);
  const auto turns = SearchFromTwoThreads(
      more, [](int threads) { return RecordedRunner::Ok(threads < 6 ? 10'000 / threads : 8'000); });
  ASSERT_TRUE(turns.ok()) << turns.status();
  EXPECT_EQ(OtherThreads::ThreadsOf(turns->best().candidate), 5);
  EXPECT_EQ(turns->best().measurement.time_ns(), 2'001);
  EXPECT_EQ(turns->unfused_ns, 9'001);
  EXPECT_EQ(turns->default_ns, 5'001);
  // The given ones, and then all other numbers of threads.
  EXPECT_EQ(std::ssize(more.told_), given_ + 5);
  // Of what was searched only who may be the fastest is measured in turns.
  EXPECT_EQ(std::ssize(turns->measured), given_ + 1);
  EXPECT_EQ(turns->searched, 4);
  EXPECT_EQ(turns->failed_searched, 0);
}

TEST_F(PipelineSearchTest, WhatFailsIsCountedAndNoMore) {
  OtherThreads more(layer_, runner_.device_, 3);
  const auto turns = SearchFromTwoThreads(
      more, [](int) { return RecordedRunner::Fail(TrialOutcome::kWrongResult, "y[0] is 1"); });
  ASSERT_TRUE(turns.ok()) << turns.status();
  EXPECT_EQ(OtherThreads::ThreadsOf(turns->best().candidate), 2);
  EXPECT_EQ(std::ssize(turns->measured), given_);
  EXPECT_EQ(turns->searched, 2);
  EXPECT_EQ(turns->failed_searched, 2);
}

TEST_F(PipelineSearchTest, AtTheDeadlineWhatIsInWorkIsLeftOut) {
  OtherThreads more(layer_, runner_.device_, kMostThreads);
  const auto turns = SearchFromTwoThreads(more, [](int threads) {
    return threads == 4 ? RecordedRunner::Fail(TrialOutcome::kTimeout, "cancelled")
                        : RecordedRunner::Ok(10'000 / threads);
  });
  ASSERT_TRUE(turns.ok()) << turns.status();
  EXPECT_EQ(OtherThreads::ThreadsOf(turns->best().candidate), 3);
  EXPECT_EQ(std::ssize(more.told_), given_ + 2);
}

TEST_F(PipelineTurnsTest, WithoutADurationOrTimeNothingIsSearched) {
  for (const AbortCondition& abort :
       {AbortCondition::Evaluations(100), AbortCondition::Duration(1)}) {
    OtherThreads more(layer_, runner_.device_, 4);
    RecordedRunner runner;
    runner.problems_ = 1;
    const auto turns = MeasureInTurns(runner, layer_, Candidates(),
                                      {.abort = abort, .patience_ns = 0}, cancelled_, &more);
    ASSERT_TRUE(turns.ok()) << turns.status();
    EXPECT_EQ(more.asked_, 0);
  }
}

TEST_F(PipelineTurnsTest, NothingIsSearchedFromKernelsThatFail) {
  OtherThreads more(layer_, runner_.device_, 4);
  runner_.answer_ = [](const Kernel&) {
    return RecordedRunner::Fail(TrialOutcome::kWrongResult, "y[0] is 1");
  };
  runner_.problems_ = 1;
  const auto turns = MeasureInTurns(
      runner_, layer_, Candidates(),
      {.abort = AbortCondition::Duration(kDuration), .patience_ns = 0}, cancelled_, &more);
  EXPECT_EQ(turns.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(more.asked_, 0);
}

TEST_F(PipelineTurnsTest, WithoutTimeForAnyKernelTheBudgetIsTooShort) {
  const Status failed = Measure({-1, -1, -1}).status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(failed.message(), "the budget is too short for 'layer': no whole kernel was measured");
}

TEST_F(PipelineTurnsTest, SmallOnesWaitForTheFirstKernel) {
  layer_ = *ParsePipeline(kLayer, {{"M", "8"}, {"N", "8"}, {"K", "8"}});
  int calls = 0;
  runner_.answer_ = [&calls](const Kernel&) {
    return calls++ < 3 ? RecordedRunner::Fail(TrialOutcome::kTimeout, "cancelled")
                       : RecordedRunner::Ok(1'000);
  };
  runner_.problems_ = 1;
  const Result<PipelineTurns> turns =
      MeasureInTurns(runner_, layer_, Candidates(),
                     {.abort = AbortCondition::Duration(1), .patience_ns = 0}, cancelled_);
  ASSERT_TRUE(turns.ok()) << turns.status();
  EXPECT_EQ(turns->best().measurement.time_ns(), 1'001);
}

TEST_F(PipelineTurnsTest, IfAllFailTheErrorSaysHow) {
  const Status failed = Measure({0, 0, 0}).status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(failed.message(),
            "none of 3 kernels of pipeline 'layer' is right; that of 'activation in the epilogue "
            "of matmul' ended with 'wrong result': y[0] is 1");
}

TEST_F(PipelineTurnsTest, WhatIsCancelledHasNoResult) {
  cancelled_ = true;
  EXPECT_EQ(Measure({1, 1, 1}).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace mdh::pipeline_turns_test

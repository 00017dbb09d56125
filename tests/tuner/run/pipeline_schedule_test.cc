// Whole kernels of pipelines under schedules: which are measured, and how many are left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/joint_parameters.h"
#include "core/device/system_model.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/text/pipeline_parser.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"
#include "tuner/run/pipeline_candidates.h"
#include "tuner/run/pipeline_schedule_check.h"
#include "tuner/run/trial_history.h"

namespace mdh::pipeline_schedule_run_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class PipelineScheduleTest : public ::testing::Test {
 protected:
  PipelineScheduleTest() {
    device_.cores = 2;
    device_.l2_bytes = 1 << 20;
  }
  PipelineSchedule Parse(const std::string& text) {
    Result<PipelineSchedule> schedule =
        PipelineSchedule::Parse(text, layer_, TuningModel(DeviceKind::kCpu), "p.sched");
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    return *std::move(schedule);
  }
  Result<std::vector<PipelineCandidate>> Candidates(const PipelineSchedule& schedule) {
    const auto together = [](const Pipeline&, const Partition& partition,
                             const DeviceDescription& device, NumericsPolicy numerics,
                             const PipelineParameters&) {
      return JointCandidates(partition, TuningModel(device.kind), device, numerics);
    };
    return PipelineCandidates(
        layer_, device_, [](const Expression&) { return std::nullopt; },
        {.more = {together},
         .schedule = &schedule,
         .find_scheduled = [this](const Schedule& asked) -> std::optional<KnownStep> {
           asked_.push_back(asked.CanonicalText());
           return std::nullopt;
         }});
  }
  ScheduleCheck Check(const std::string& text) {
    Result<ScheduleCheck> check = CheckSchedule(device_, Parse(text));
    EXPECT_TRUE(check.ok()) << check.status();
    return *std::move(check);
  }

  const Pipeline layer_ = *ParsePipeline(kLayer);
  DeviceDescription device_;
  std::vector<std::string> asked_;  // schedules of steps that were looked for
};

TEST_F(PipelineScheduleTest, AllCandidatesKeepToIt) {
  const PipelineSchedule schedule =
      Parse("edge h -> y = stage\nstep matmul:\nL1: tile k=2\nL2: tile k=whole");
  const auto candidates = Candidates(schedule);
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  EXPECT_FALSE(candidates->empty());
  for (const PipelineCandidate& candidate : *candidates) {
    EXPECT_TRUE(schedule.Allows(candidate.parameters).ok()) << ToText(candidate.parameters);
    EXPECT_THAT(candidate.kernel.source, HasSubstr("edge matmul -> activation = stage"));
  }
  EXPECT_FALSE(asked_.empty());
}

TEST_F(PipelineScheduleTest, NamedGroupsHavePartsThatNoSearchTries) {
  const PipelineSchedule schedule =
      Parse("edge h -> y = stage\ntogether(matmul, activation): by (j, i); part i=4, j=5");
  const auto candidates = Candidates(schedule);
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  ASSERT_FALSE(candidates->empty());
  for (const PipelineCandidate& candidate : *candidates) {
    ASSERT_THAT(candidate.parameters.groups, SizeIs(1));
    EXPECT_EQ(candidate.parameters.groups[0].part, (std::vector<int64_t>{5, 4}));
  }
}

TEST_F(PipelineScheduleTest, OneThatSaysEverythingIsTheOnlyCandidate) {
  const auto free = Candidates(Parse(""));
  ASSERT_TRUE(free.ok()) << free.status();
  for (const PipelineCandidate& one : *free) {
    const std::string text = PipelineSchedule::TextOf(layer_, one.partition, one.parameters,
                                                      TuningModel(DeviceKind::kCpu));
    const auto said = Candidates(Parse(text));
    ASSERT_TRUE(said.ok()) << said.status();
    ASSERT_THAT(*said, SizeIs(1)) << text;
    // But for heads of the source: orders without effect.
    EXPECT_TRUE(IdentityOf(said->front().kernel) == IdentityOf(one.kernel)) << text;
    EXPECT_EQ(Check(text).count, 1);
  }
}

TEST_F(PipelineScheduleTest, CountsWhatIsLeft) {
  const ScheduleCheck free = Check(""), stage = Check("edge h -> y = stage"),
                      alone = Check("edge h -> y = stage\nalone(matmul, activation)"),
                      fused = Check("edge h -> y = epilogue");
  EXPECT_EQ(free.count, stage.count + fused.count);
  EXPECT_LT(alone.count, stage.count);
  EXPECT_GT(alone.count, 1);
  EXPECT_THAT(fused.example, HasSubstr("edge 1 2 epilogue"));
  const ScheduleCheck pinned =
      Check("edge h -> y = stage\nalone(matmul, activation)\nstep matmul:\nL1: tile k=2");
  EXPECT_LT(pinned.count, alone.count);
  EXPECT_GT(pinned.count, 0);
}

TEST_F(PipelineScheduleTest, WhatLeavesNothingIsNamed) {
  const ScheduleCheck fusion = Check("edge h -> y = inline");
  EXPECT_EQ(fusion.count, 0);
  ASSERT_THAT(fusion.conflicts, SizeIs(1));
  EXPECT_EQ(fusion.conflicts[0].ToText(),
            "p.sched:1: 'edge matmul -> activation = inline' leaves nothing: inline: 'matmul' "
            "combines points");
  EXPECT_THAT(ErrorMessage(Candidates(Parse("edge h -> y = inline"))),
              HasSubstr("no way to compute the pipeline keeps to the schedule"));
  // Lines of a step, with their numbers in the file.
  const ScheduleCheck step = Check(
      "edge h -> y = stage\nstep matmul:\nL2: parts k=2\nL1: tile i=2\nrequire tile(L2, k) == 6");
  EXPECT_EQ(step.count, 0);
  ASSERT_THAT(step.conflicts, SizeIs(1));
  EXPECT_EQ(step.conflicts[0].lines, (std::vector<int>{3, 5}));
}

}  // namespace
}  // namespace mdh::pipeline_schedule_run_test

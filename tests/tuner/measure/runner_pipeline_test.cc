// Kernels of whole pipelines on the real runner.
#include "absl/strings/str_replace.h"
#include "codegen/generate_pipeline.h"
#include "core/pipeline/plan/plan.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/tuner/runner_fixture.h"
#include "tuner/process/clock.h"

namespace mdh::runner_pipeline_test {
namespace {

using ::testing::HasSubstr;

class RunnerPipelineTest : public RunnerTest {
 protected:
  void StartRunner(const Pipeline& pipeline) {
    Result<std::unique_ptr<Runner>> started = Runner::Start(Options());
    ASSERT_TRUE(started.ok()) << started.status();
    runner_ = *std::move(started);
    const Status status = runner_->SetProblem(pipeline, 1);
    ASSERT_TRUE(status.ok()) << status;
  }
  Measurement MeasureKernelOf(const Pipeline& partition) {
    const SystemModel model = TuningModel(DeviceKind::kCpu);
    const Result<Kernel> kernel =
        GeneratePipelineKernel(partition, model, runner_->device(),
                               DefaultParameters(partition, model, runner_->device()));
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    return MeasureOne(*kernel);
  }
};

TEST_F(RunnerPipelineTest, EveryPartitionIsRightAndOtherPipelinesAreWrong) {
  // The product is computed by the plain kernel, as it has more points than are interpreted.
  const Bindings sizes = {{"M", "110"}, {"N", "105"}, {"K", "100"}};
  const Pipeline layer = *ParsePipeline(kLayer, sizes);
  StartRunner(layer);
  const std::vector<Partition> partitions = PlanPartitions(layer);
  ASSERT_EQ(partitions.size(), 2u);
  for (const Partition& partition : partitions) {
    const Measurement measured = MeasureKernelOf(partition.pipeline);
    EXPECT_EQ(measured.outcome, TrialOutcome::kOk) << measured.reason;
    EXPECT_EQ(measured.check, ResultCheck::kWhole);
    EXPECT_GT(measured.time_ns(), 0);
  }
  EXPECT_EQ(*runner_->LoopNestTime(), 0);
  const std::string other = absl::StrReplaceAll(kLayer, {{"x + b", "x - b"}});
  const Measurement wrong = MeasureKernelOf(*ParsePipeline(other, sizes));
  EXPECT_EQ(wrong.outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT(wrong.reason, HasSubstr("y["));
}

// A layer that is wrong in one element of ten thousand.
std::string WithOneMistake() {
  return absl::StrReplaceAll(kLayer, {{"y = max(x + b, 0)",
                                       "y = i == 57 ? (j == 31 ? 0.125 : max(x + b, 0)) : "
                                       "max(x + b, 0)"}});
}

TEST_F(RunnerPipelineTest, WithoutTimeForAllResultsKernelsAreComparedWithEachOther) {
  const Bindings sizes = {{"M", "110"}, {"N", "105"}, {"K", "100"}};
  const Pipeline layer = *ParsePipeline(kLayer, sizes);
  const Pipeline mistaken = *ParsePipeline(WithOneMistake(), sizes);
  Result<std::unique_ptr<Runner>> started = Runner::Start(Options());
  ASSERT_TRUE(started.ok()) << started.status();
  runner_ = *std::move(started);
  const auto set_problem = [&](uint64_t seed) {
    runner_->SetDeadline(NowNs() + 4'000'000'000);
    const Status status = runner_->SetProblem(layer, seed);
    runner_->SetDeadline(0);
    ASSERT_TRUE(status.ok()) << status;
  };
  set_problem(1);
  for (const Partition& partition : PlanPartitions(layer)) {
    const Measurement measured = MeasureKernelOf(partition.pipeline);
    EXPECT_EQ(measured.outcome, TrialOutcome::kOk) << measured.reason;
    EXPECT_EQ(measured.check, ResultCheck::kSamples);
  }
  const Measurement wrong = MeasureKernelOf(mistaken);
  EXPECT_EQ(wrong.outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT(wrong.reason, HasSubstr("y[6016]"));
  // The wrong one comes first, and is not always found out at once, but then.
  set_problem(2);
  MeasureKernelOf(mistaken);
  EXPECT_EQ(MeasureKernelOf(layer).outcome, TrialOutcome::kOk);
  EXPECT_EQ(MeasureKernelOf(mistaken).outcome, TrialOutcome::kWrongResult);
}

TEST_F(RunnerPipelineTest, SeveralOutputsAreCompared) {
  const Pipeline centred = *ParsePipeline(kCentred);
  StartRunner(centred);
  EXPECT_EQ(MeasureKernelOf(centred).outcome, TrialOutcome::kOk);
  const std::string other = absl::StrReplaceAll(kCentred, {{"m = x / 8", "m = x / 4"}});
  EXPECT_EQ(MeasureKernelOf(*ParsePipeline(other)).outcome, TrialOutcome::kWrongResult);
}

}  // namespace
}  // namespace mdh::runner_pipeline_test

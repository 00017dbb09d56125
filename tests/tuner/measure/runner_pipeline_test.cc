// Kernels of whole pipelines on the real runner.
#include "absl/strings/str_replace.h"
#include "codegen/generate_pipeline.h"
#include "core/pipeline/plan/plan.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/tuner/runner_fixture.h"

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

TEST_F(RunnerPipelineTest, SeveralOutputsAreCompared) {
  const Pipeline centred = *ParsePipeline(kCentred);
  StartRunner(centred);
  EXPECT_EQ(MeasureKernelOf(centred).outcome, TrialOutcome::kOk);
  const std::string other = absl::StrReplaceAll(kCentred, {{"m = x / 8", "m = x / 4"}});
  EXPECT_EQ(MeasureKernelOf(*ParsePipeline(other)).outcome, TrialOutcome::kWrongResult);
}

}  // namespace
}  // namespace mdh::runner_pipeline_test

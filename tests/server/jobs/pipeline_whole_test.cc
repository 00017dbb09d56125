// Jobs that measure whole kernels of pipelines behind those of the steps.
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/pipeline/plan/search_plan.h"
#include "core/text/parser.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/pipeline_jobs.h"
#include "server/jobs/tuning_request.h"
#include "server/records/kernel_key.h"
#include "server/records/pipeline_record.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/temporary_directory.h"

namespace mdh::pipeline_whole_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kChain[] =
    "chain := out_view<fp32>( y: (i,j,k,l) -> (i,l) ) o md_hom<48,48,48,48>( f, (++, +, +, ++) ) o "
    "inp_view<fp32,fp32,fp32>( a: (i,j,k,l) -> (i,j), b: (i,j,k,l) -> (j,k), c: (i,j,k,l) -> (k,l) "
    ") where f(a, b, c) -> y { y = a * b * c }";

class PipelineWholeTest : public ::testing::Test {
 protected:
  PipelineWholeTest() {
    store_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      table_.Apply(kind, record);
    });
    StartQueue();
  }
  // What a new process does.
  void StartQueue() {
    queue_.reset();
    JobQueueOptions options;
    options.tune = std::ref(tune_);
    options.measure_in_turns = std::ref(turns_);
    queue_ = *JobQueue::Start(*store_, table_, catalogue_, std::move(options));
  }
  v1::CreateTuningJobResponse Create(int64_t budget_ns = 0, bool force = false,
                                     const std::string& schedule = "") {
    JobRequest request;
    request.options.set_budget_ns(budget_ns);
    request.options.set_schedule(schedule);
    request.force = force;
    const auto created = CreatePipelineJobs(layer_, request, catalogue_, *queue_);
    EXPECT_TRUE(created.ok()) << created.status();
    return *created;
  }
  void ReleaseSteps() {
    for (int step = 0; step < 3; ++step) tune_.Release();
  }
  bool HasState(int64_t number, v1::TuningJobState state) {
    return Eventually([&] { return queue_->Get(number)->state() == state; });
  }
  Result<v1::TuningRecord> Record() {
    return table_.FindRecord(MakeKernelKey(layer_, KeyEnvironment::Of(FakeCpu())));
  }

  const Pipeline layer_ = *ParsePipeline(kLayer);
  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeTune tune_;
  FakeTurns turns_;
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  FakeDevice& cuda_ = devices_.Add("devices/cuda0", FakeGpu());
  LookupTable table_{KeyEnvironment::Of(cpu_.description)};
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, *store_};
  std::unique_ptr<JobQueue> queue_;
};

TEST_F(PipelineWholeTest, BeginsWhenTheJobsOfTheStepsHaveEnded) {
  const v1::CreateTuningJobResponse created = Create();
  const v1::TuningJob& whole = created.whole_job().job();
  EXPECT_EQ(whole.name(), "tuningJobs/4");
  EXPECT_EQ(whole.expression_name(), "layer");
  EXPECT_THAT(whole.awaited_jobs(), ElementsAre("tuningJobs/1", "tuningJobs/2", "tuningJobs/3"));
  tune_.Release();
  tune_.Release();
  ASSERT_TRUE(HasState(2, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(queue_->Get(4)->state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_EQ(turns_.runs, 0);
  tune_.Release();
  ASSERT_TRUE(HasState(4, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(turns_.runs, 1);
  const v1::TuningJob job = *queue_->Get(4);
  const Result<v1::TuningRecord> record = Record();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(job.record(), record->name());
  EXPECT_EQ(job.progress().best_time_ns(), record->time_ns());
  EXPECT_EQ(job.progress().trials(), record->trials());
  EXPECT_LT(record->time_ns(), 900'000);
  EXPECT_EQ(record->pipeline().unfused_time_ns(), 900'000);
  EXPECT_EQ(record->pipeline().kernels(0).parameters(), record->parameters());
  EXPECT_GE(record->time_ns() > 0 ? record->pipeline().unfused_time_ns() / record->time_ns() : 0,
            1);
  EXPECT_FALSE(record->device_names().empty());
  const auto kernel = store_->GetKernel(*ParseRecordName(record->name()));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->arguments_size(), 4);
  const Result<v1::PipelineKernel> explained = ExplainPipelineRecord(*record);
  ASSERT_TRUE(explained.ok()) << explained.status();
  EXPECT_TRUE(explained->is_measured());
  EXPECT_EQ(explained->partition().text(), record->pipeline().kernels(0).partition());
}

TEST_F(PipelineWholeTest, ABudgetIsForStepsAndWholeKernelsTogether) {
  const v1::CreateTuningJobResponse created = Create(16'000'000'000);
  int64_t steps_ns = 0;
  for (const v1::PipelineStepJob& step : created.step_jobs()) {
    steps_ns += step.job().options().budget_ns();
  }
  EXPECT_LE(steps_ns, 8'000'000'000);
  EXPECT_GE(steps_ns, 8'000'000'000 - 3);
  ReleaseSteps();
  ASSERT_TRUE(HasState(4, v1::TUNING_JOB_STATE_SUCCEEDED));
  // What the steps have not used is left for them.
  EXPECT_GT(turns_.duration_ns, 8'000'000'000);
  EXPECT_LE(turns_.duration_ns, 16'000'000'000);
}

TEST_F(PipelineWholeTest, AShortBudgetIsForTheCostliestSteps) {
  const v1::CreateTuningJobResponse created = Create(1'000'000'000);
  ASSERT_THAT(created.step_jobs(), SizeIs(1));
  EXPECT_EQ(created.step_jobs(0).job().options().budget_ns(), 500'000'000);
  EXPECT_THAT(created.note(), HasSubstr("the costliest 1 of 3 distinct steps, as the budget is "
                                        "short, of 2 partitions: "));
  tune_.Release();
  ASSERT_TRUE(HasState(2, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_TRUE(Record().ok());
}

// What compiles there does not take the device's time: the search for whole kernels sees many.
TEST_F(PipelineWholeTest, OnOtherDevicesAShortBudgetIsForWholeKernels) {
  JobRequest request;
  request.devices = {"devices/cuda0"};
  request.options.set_budget_ns(20'000'000'000);
  const auto created = CreatePipelineJobs(layer_, request, catalogue_, *queue_);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_THAT(created->step_jobs(), IsEmpty());
  EXPECT_EQ(created->partitions_size(), 2);
  EXPECT_THAT(created->note(), HasSubstr("whole kernels, and then the best one's steps, out of 3 "
                                         "distinct steps, as the budget is short, of 2 "
                                         "partitions: "));
  ASSERT_TRUE(HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(turns_.duration_ns, 20'000'000'000);
  // The same again has a result.
  const auto again = CreatePipelineJobs(layer_, request, catalogue_, *queue_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->whole_job().job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(turns_.runs, 1);
  // With more time steps are searched before.
  request.options.set_budget_ns(30'000'000'000);
  const auto longer = CreatePipelineJobs(layer_, request, catalogue_, *queue_);
  ASSERT_TRUE(longer.ok()) << longer.status();
  EXPECT_THAT(longer->step_jobs(), SizeIs(3));
}

TEST_F(PipelineWholeTest, WhatIsKnownIsNotMeasuredAgain) {
  Create(12'000'000'000);
  ReleaseSteps();
  ASSERT_TRUE(HasState(4, v1::TUNING_JOB_STATE_SUCCEEDED));
  const v1::CreateTuningJobResponse again = Create(12'000'000'000);
  EXPECT_EQ(again.whole_job().job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_THAT(again.whole_job().job().awaited_jobs(), IsEmpty());
  EXPECT_EQ(turns_.runs, 1);
  // More search for the steps may change which kernel is the best.
  const v1::CreateTuningJobResponse more = Create(24'000'000'000);
  EXPECT_EQ(more.whole_job().job().state(), v1::TUNING_JOB_STATE_QUEUED);
  ReleaseSteps();
  EXPECT_TRUE(Eventually([&] { return turns_.runs == 2; }));
}

TEST_F(PipelineWholeTest, ASecondRequestJoinsAndAwaitsWhatIsNew) {
  turns_.is_waiting = true;
  Create(12'000'000'000);
  ReleaseSteps();
  ASSERT_TRUE(Eventually([&] { return turns_.runs == 1; }));
  const v1::CreateTuningJobResponse second = Create(24'000'000'000);
  EXPECT_TRUE(second.whole_job().joined());
  EXPECT_EQ(second.whole_job().job().name(), "tuningJobs/4");
  EXPECT_THAT(second.whole_job().job().awaited_jobs(), SizeIs(6));
  turns_.is_waiting = false;
  // It waits again, for the steps that are searched on.
  EXPECT_TRUE(HasState(4, v1::TUNING_JOB_STATE_QUEUED));
  ReleaseSteps();
  EXPECT_TRUE(HasState(4, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(turns_.runs, 2);
}

TEST_F(PipelineWholeTest, ARestartedDaemonGoesOn) {
  turns_.is_waiting = true;
  Create();
  tune_.Release();
  ASSERT_TRUE(HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  StartQueue();
  EXPECT_EQ(queue_->Get(4)->state(), v1::TUNING_JOB_STATE_QUEUED);
  ReleaseSteps();
  ASSERT_TRUE(Eventually([&] { return turns_.runs == 1; }));
  // Amid the turns, too.
  StartQueue();
  turns_.is_waiting = false;
  EXPECT_TRUE(HasState(4, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(queue_->Get(4)->restarts(), 2);
  EXPECT_TRUE(Record().ok());
}

// The whole of an expression that is planned, and the search of it as it stands, have one key.
TEST_F(PipelineWholeTest, ARestartedDaemonKnowsTheWholeOfAnExpression) {
  const Pipeline chain = Pipeline::Of(*ParseExpression(kChain));
  const auto created = CreatePipelineJobs(chain, JobRequest(), catalogue_, *queue_);
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_THAT(created->step_jobs(), SizeIs(2));
  const v1::TuningJob& whole = created->whole_job().job();
  EXPECT_FALSE(created->whole_job().joined());
  EXPECT_EQ(whole.name(), "tuningJobs/3");
  EXPECT_EQ(created->step_jobs(1).job().key().SerializeAsString(), whole.key().SerializeAsString());
  tune_.Release();
  ASSERT_TRUE(HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  StartQueue();
  tune_.Release();
  tune_.Release();
  ASSERT_TRUE(HasState(3, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(turns_.runs, 1);
  const Result<v1::TuningRecord> record = table_.FindRecord(whole.key());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_THAT(record->device_names(), SizeIs(1));
}

TEST_F(PipelineWholeTest, IsCancelledWhileItWaitsOrRuns) {
  Create();
  ASSERT_TRUE(queue_->Cancel(4).ok());
  EXPECT_EQ(queue_->Get(4)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  turns_.is_waiting = true;
  ReleaseSteps();
  ASSERT_TRUE(HasState(3, v1::TUNING_JOB_STATE_SUCCEEDED));
  const std::string name = Create().whole_job().job().name();
  EXPECT_EQ(name, "tuningJobs/8");  // after those that succeed at once
  ASSERT_TRUE(Eventually([&] { return turns_.runs == 1; }));
  ASSERT_TRUE(queue_->Cancel(8).ok());
  EXPECT_TRUE(HasState(8, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_FALSE(Record().ok());
}

TEST_F(PipelineWholeTest, IsCancelledWithAllThatItAwaits) {
  Create();
  for (const int64_t step : {1, 2, 3}) ASSERT_TRUE(queue_->Cancel(step).ok());
  EXPECT_TRUE(HasState(4, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_EQ(turns_.runs, 0);
}

TEST_F(PipelineWholeTest, IfAllKernelsAreWrongTheRecordsOfTheStepsStay) {
  turns_.is_failing = true;
  Create();
  ReleaseSteps();
  ASSERT_TRUE(HasState(4, v1::TUNING_JOB_STATE_FAILED));
  EXPECT_THAT(queue_->Get(4)->error().message(), HasSubstr("every kernel is wrong"));
  EXPECT_FALSE(Record().ok());
  for (const PipelineStep& step : layer_.steps()) {
    EXPECT_TRUE(
        table_.FindRecord(MakeKernelKey(step.expression, KeyEnvironment::Of(FakeCpu()))).ok());
  }
}

TEST_F(PipelineWholeTest, AScheduleIsOfTheStepsAndOfTheWhole) {
  const v1::CreateTuningJobResponse created =
      Create(0, false, "edge h -> y = stage\nstep matmul:\nL1: tile j=5");
  ASSERT_THAT(created.step_jobs(), SizeIs(2));
  EXPECT_THAT(created.partitions(), SizeIs(1));
  EXPECT_EQ(created.step_jobs(0).job().options().schedule(), "L1: tile j=whole\n");
  EXPECT_EQ(created.step_jobs(0).job().key().schedule(), "L1: tile d2=whole\n");
  EXPECT_EQ(created.step_jobs(1).job().key().schedule(), "");
  const v1::TuningJob& whole = created.whole_job().job();
  EXPECT_EQ(whole.key().schedule(), "edge 1 -> 2 = stage\nstep 1:\nL1: tile d2=whole\n");
  ReleaseSteps();
  ASSERT_TRUE(HasState(3, v1::TUNING_JOB_STATE_SUCCEEDED));
  const Result<v1::TuningRecord> record = table_.FindRecord(whole.key());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_THAT(record->parameters(), HasSubstr("edge 1 2 stage"));
  EXPECT_THAT(record->schedule(), HasSubstr("edge matmul -> activation = stage\n"));
  for (const v1::PipelineTurn& turn : record->pipeline().kernels()) {
    EXPECT_THAT(turn.parameters(), HasSubstr("edge 1 2 stage"));
  }
  // Until there is a free search, it is the free record, too.
  EXPECT_TRUE(Record()->is_provisional());
}

TEST_F(PipelineWholeTest, AScheduleThatSaysEverythingIsMeasuredAtOnce) {
  Create();
  ReleaseSteps();
  ASSERT_TRUE(HasState(4, v1::TUNING_JOB_STATE_SUCCEEDED));
  const v1::TuningRecord found = *Record();
  const v1::CreateTuningJobResponse created = Create(0, false, found.schedule());
  EXPECT_THAT(created.step_jobs(), IsEmpty());
  ASSERT_TRUE(HasState(5, v1::TUNING_JOB_STATE_SUCCEEDED));
  const Result<v1::TuningRecord> again = table_.FindRecord(created.whole_job().job().key());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->schedule(), found.schedule());
  EXPECT_EQ(again->pipeline().kernels_size(), 1);
}

TEST_F(PipelineWholeTest, WhatWasOnlySearchedCountsAsTrials) {
  PipelineTurns turns;
  auto candidates = PipelineCandidates(layer_, cpu_.description,
                                       [](const Expression&) { return std::nullopt; }, {});
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  for (PipelineCandidate& candidate : *candidates) {
    turns.measured.push_back({std::move(candidate), {}});
    turns.measured.back().measurement.times_ns = {1'000};
  }
  turns.searched = 40;
  turns.failed_searched = 3;
  const v1::TuningRecord record = MakePipelineRecord(
      layer_, MakeKernelKey(layer_, KeyEnvironment::Of(FakeCpu())), cpu_.description, turns);
  EXPECT_EQ(record.trials(), std::ssize(turns.measured) + 40);
  EXPECT_EQ(record.failed_trials(), 3);
  EXPECT_EQ(record.pipeline().kernels_size(), std::ssize(turns.measured));
}

TEST_F(PipelineWholeTest, StepsWithoutARecordAreComputedAsRulesSay) {
  Create();
  ASSERT_TRUE(queue_->Cancel(2).ok());
  tune_.Release();
  tune_.Release();
  ASSERT_TRUE(HasState(4, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_TRUE(Record().ok());
}

}  // namespace
}  // namespace mdh::pipeline_whole_test

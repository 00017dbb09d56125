#include "server/job_queue.h"

#include "codegen/default_parameters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/resource_names.h"
#include "server/sqlite_store.h"
#include "server/tuning_request.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kSoon = absl::Seconds(10);

// Tunes without a machine: a search makes one trial and then waits for Release or cancellation.
class FakeBackend : public TuningBackend {
 public:
  FakeBackend() {
    device_.name = "fake CPU";
    device_.compiler = "fake cc 1";
  }

  const DeviceDescription& device() const override { return device_; }
  Status CanTune() const override { return can_tune; }
  Result<MachinePeaks> Peaks() override { return MachinePeaks{1e12, 5e11, 1e11}; }
  void Interrupt() override {}

  Result<TuningResult> Tune(const Expression& expression, const TuningOptions& options,
                            const std::function<void(const TuningProgress&)>& on_trial,
                            const std::atomic<bool>& cancelled) override {
    Trial trial{1, DefaultParameters(expression, OpenMpSimdRegistersModel(), device_), {}};
    trial.measurement.times_ns = {time_ns};
    on_trial({&trial, 1, 0, time_ns.load(), &trial.parameters, 1000});
    {
      absl::MutexLock lock(&mutex_);
      starts_.push_back(options.start.size());
      const auto may_end = [&] { return released_ > 0 || cancelled.load(); };
      while (!may_end()) ends_.WaitWithTimeout(&mutex_, absl::Milliseconds(5));
      if (released_ > 0) --released_;
    }
    if (!failure.ok()) return failure;
    TuningResult result;
    result.parameters = trial.parameters;
    result.measurement = trial.measurement;
    result.kernel.entry = "mdh_fake";
    result.kernel.source = "int fake;";
    result.trials = 1;
    return result;
  }

  // Lets one search end by itself.
  void Release() {
    absl::MutexLock lock(&mutex_);
    ++released_;
  }
  // For each search the number of configurations that it was given to start from.
  std::vector<size_t> starts() {
    absl::MutexLock lock(&mutex_);
    return starts_;
  }

  Status can_tune;
  Status failure;
  std::atomic<int64_t> time_ns = 1'000'000;

 private:
  DeviceDescription device_;
  absl::Mutex mutex_;
  absl::CondVar ends_;
  int released_ = 0;
  std::vector<size_t> starts_;
};

class JobQueueTest : public ::testing::Test {
 protected:
  JobQueueTest() { StartQueue({}); }
  void StartQueue(JobQueueOptions options) {
    queue_.reset();
    queue_ = *JobQueue::Start(*store_, table_, backend_, catalogue_, std::move(options));
  }

  Result<v1::CreateTuningJobResponse> Create(int64_t size, bool force = false,
                                             const std::string& request_id = "") {
    return queue_->Create(
        {MatMulExpression(size, size, size), *CheckTuningOptions({}), force, request_id});
  }
  // Waits until the job has ended.
  v1::TuningJob WaitForEnd(int64_t number) {
    int64_t sequence = 0;
    const absl::Time limit = absl::Now() + kSoon;
    while (absl::Now() < limit) {
      const auto news = queue_->WaitForProgress(number, sequence, kSoon);
      if (!news.ok()) break;
      for (const v1::TuningProgress& step : *news) sequence = step.sequence();
      const v1::TuningJob job = *queue_->Get(number);
      if (job.has_end_time()) return job;
    }
    ADD_FAILURE() << "job " << number << " did not end";
    return {};
  }
  void WaitUntilRunning(int64_t number) {
    // Created, started, first trial.
    ASSERT_TRUE(queue_->WaitForProgress(number, 2, kSoon).ok());
    ASSERT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_RUNNING);
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeBackend backend_;
  LookupTable table_{KeyEnvironment::Of(backend_.device())};
  DeviceCatalogue catalogue_{backend_, *store_};
  std::unique_ptr<JobQueue> queue_;
};

TEST_F(JobQueueTest, AJobEndsWithARecordThatLookupsFind) {
  backend_.Release();
  const v1::TuningJob created = Create(64)->job();
  EXPECT_EQ(created.name(), "tuningJobs/1");
  EXPECT_EQ(created.state(), v1::TUNING_JOB_STATE_QUEUED);
  const v1::TuningJob job = WaitForEnd(1);
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.progress().best_time_ns(), 1'000'000);
  const Result<v1::TuningRecord> record = table_.FindRecord(job.key());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->name(), job.record());
  EXPECT_EQ(record->flops(), 2 * 64 * 64 * 64);
  EXPECT_EQ(record->search_end(), v1::SEARCH_END_BUDGET);
  EXPECT_EQ(store_->GetKernel(*ParseRecordName(job.record()))->source(), "int fake;");
  EXPECT_EQ(store_->GetJob(1)->state(), v1::TUNING_JOB_STATE_SUCCEEDED);
}

TEST_F(JobQueueTest, ProgressIsNumberedAndCanBeResumed) {
  backend_.Release();
  ASSERT_TRUE(Create(64).ok());
  WaitForEnd(1);
  const auto all = queue_->WaitForProgress(1, 0, kSoon);
  ASSERT_TRUE(all.ok());
  std::vector<v1::TuningJobState> states;
  for (size_t i = 0; i < all->size(); ++i) {
    EXPECT_EQ(all->at(i).sequence(), static_cast<int64_t>(i) + 1);
    states.push_back(all->at(i).state());
  }
  EXPECT_THAT(states, ElementsAre(v1::TUNING_JOB_STATE_QUEUED, v1::TUNING_JOB_STATE_RUNNING,
                                  v1::TUNING_JOB_STATE_RUNNING, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(all->at(2).trials(), 1);
  EXPECT_EQ(all->at(2).latest_outcome(), "ok");
  EXPECT_THAT(*queue_->WaitForProgress(1, 3, kSoon), SizeIs(1));
  // Who asks for more than there is still learns that the job has ended.
  const auto beyond = queue_->WaitForProgress(1, 99, kSoon);
  ASSERT_THAT(*beyond, SizeIs(1));
  EXPECT_EQ(beyond->front().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
}

TEST_F(JobQueueTest, IdenticalRequestsShareOneJob) {
  EXPECT_FALSE(Create(64)->joined());
  const auto second = Create(64);
  EXPECT_TRUE(second->joined());
  EXPECT_EQ(second->job().name(), "tuningJobs/1");
  EXPECT_FALSE(Create(65)->joined());
  EXPECT_TRUE(Create(65)->joined());
  EXPECT_THAT(*queue_->List(0, 10), SizeIs(2));
}

TEST_F(JobQueueTest, TheSameRequestIdGivesTheSameJob) {
  backend_.Release();
  ASSERT_TRUE(Create(64, false, "r").ok());
  WaitForEnd(1);
  EXPECT_EQ(Create(64, true, "r")->job().name(), "tuningJobs/1");
  const Status other = Create(65, false, "r").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(other.message()), HasSubstr("request_id 'r' was used"));
}

TEST_F(JobQueueTest, AKnownResultIsNotSearchedAgain) {
  backend_.Release();
  ASSERT_TRUE(Create(64).ok());
  WaitForEnd(1);
  const v1::TuningJob job = Create(64)->job();
  EXPECT_EQ(job.name(), "tuningJobs/2");
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(job.record().empty());
  EXPECT_THAT(backend_.starts(), SizeIs(1));
}

TEST_F(JobQueueTest, ForceSearchesAgainFromTheKnownResultAndKeepsTheBetter) {
  backend_.Release();
  ASSERT_TRUE(Create(64).ok());
  const v1::KernelKey key = WaitForEnd(1).key();
  backend_.time_ns = 2'000'000;
  backend_.Release();
  ASSERT_TRUE(Create(64, true).ok());
  EXPECT_EQ(WaitForEnd(2).state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_THAT(backend_.starts(), ElementsAre(0, 1));
  EXPECT_EQ(table_.FindRecord(key)->time_ns(), 1'000'000);
  backend_.time_ns = 500'000;
  backend_.Release();
  ASSERT_TRUE(Create(64, true).ok());
  WaitForEnd(3);
  EXPECT_EQ(table_.FindRecord(key)->time_ns(), 500'000);
}

TEST_F(JobQueueTest, CancellingARunningJobKeepsTheBestSoFar) {
  ASSERT_TRUE(Create(64).ok());
  WaitUntilRunning(1);
  ASSERT_TRUE(queue_->Cancel(1).ok());
  const v1::TuningJob job = WaitForEnd(1);
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(table_.FindRecord(job.key())->search_end(), v1::SEARCH_END_CANCELLED);
  EXPECT_EQ(queue_->Cancel(1)->state(), v1::TUNING_JOB_STATE_CANCELLED);
}

TEST_F(JobQueueTest, CancellingAQueuedJobEndsItAtOnce) {
  ASSERT_TRUE(Create(64).ok());
  WaitUntilRunning(1);
  ASSERT_TRUE(Create(65).ok());
  ASSERT_TRUE(Create(66).ok());
  EXPECT_EQ(queue_->Get(3)->progress().queue_position(), 2);
  EXPECT_EQ(queue_->Cancel(2)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(queue_->Get(3)->progress().queue_position(), 1);
  EXPECT_EQ(store_->GetJob(2)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(queue_->Cancel(99).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobQueueTest, AFullQueueRefuses) {
  StartQueue({.max_queued = 1});
  ASSERT_TRUE(Create(64).ok());
  WaitUntilRunning(1);
  ASSERT_TRUE(Create(65).ok());
  EXPECT_EQ(Create(66).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(JobQueueTest, WithoutACompilerTuningIsRefused) {
  backend_.can_tune = absl::FailedPreconditionError("no compiler was found");
  const Status status = Create(64).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "no compiler was found");
}

TEST_F(JobQueueTest, AFailedSearchFailsItsJobOnly) {
  backend_.failure = absl::FailedPreconditionError("no candidate was valid");
  backend_.Release();
  ASSERT_TRUE(Create(64).ok());
  const v1::TuningJob job = WaitForEnd(1);
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_FAILED);
  EXPECT_EQ(job.error().message(), "no candidate was valid");
  EXPECT_EQ(job.error().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  backend_.failure = absl::OkStatus();
  backend_.Release();
  ASSERT_TRUE(Create(65).ok());
  EXPECT_EQ(WaitForEnd(2).state(), v1::TUNING_JOB_STATE_SUCCEEDED);
}

TEST_F(JobQueueTest, AnImplausibleTimeIsNotStored) {
  backend_.time_ns = 300;  // 524,288 operations at 1e12 per second take 524 ns
  backend_.Release();
  ASSERT_TRUE(Create(64).ok());
  const v1::TuningJob job = WaitForEnd(1);
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_FAILED);
  EXPECT_THAT(job.error().message(), HasSubstr("implausible"));
  EXPECT_FALSE(table_.FindRecord(job.key()).ok());
}

TEST_F(JobQueueTest, DrainingCancelsEverythingAndRefusesMore) {
  ASSERT_TRUE(Create(64).ok());
  WaitUntilRunning(1);
  ASSERT_TRUE(Create(65).ok());
  queue_->Drain();
  EXPECT_EQ(store_->GetJob(1)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_FALSE(store_->GetJob(1)->record().empty());
  EXPECT_EQ(store_->GetJob(2)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(Create(66).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(JobQueueTest, JobsOfAnEarlierProcessAreMarkedAsInterrupted) {
  v1::TuningJob running;
  running.set_state(v1::TUNING_JOB_STATE_RUNNING);
  running.mutable_progress()->set_sequence(5);
  ASSERT_TRUE(store_->InsertJob(running).ok());
  StartQueue({});
  const v1::TuningJob job = *queue_->Get(1);
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_FAILED);
  EXPECT_EQ(job.error().message(), "the daemon ended before the job did");
  const auto news = queue_->WaitForProgress(1, 0, kSoon);
  ASSERT_THAT(*news, SizeIs(1));
  EXPECT_EQ(news->front().state(), v1::TUNING_JOB_STATE_FAILED);
  EXPECT_EQ(news->front().sequence(), 6);
}

TEST_F(JobQueueTest, OldProgressIsForgottenBeyondTheLimits) {
  StartQueue({.max_progress_steps = 2, .max_recent = 1});
  backend_.Release();
  ASSERT_TRUE(Create(64).ok());
  WaitForEnd(1);
  EXPECT_THAT(*queue_->WaitForProgress(1, 0, kSoon), SizeIs(2));
  backend_.Release();
  ASSERT_TRUE(Create(65).ok());
  WaitForEnd(2);
  // The first job is in the store only, with its last step.
  const auto news = queue_->WaitForProgress(1, 0, kSoon);
  ASSERT_THAT(*news, SizeIs(1));
  EXPECT_EQ(news->front().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(news->front().sequence(), 4);
}

}  // namespace
}  // namespace mdh

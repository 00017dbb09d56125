// Jobs that outlive the process, and trials that are not made twice.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/job_request.h"
#include "server/jobs/tuning_request.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/overwrite.h"
#include "tests/server/temporary_directory.h"

namespace mdh::job_resume_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class JobResumeTest : public ::testing::Test {
 protected:
  JobResumeTest() {
    store_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      table_.Apply(kind, record);
    });
  }
  // What a new process does; the old one must have ended.
  void StartQueue() {
    queue_.reset();
    JobQueueOptions options;
    options.max_queued = 20'000;
    options.tune = [this](const Expression& expression, absl::Span<Runner* const> runners,
                          const TuningOptions& tuning,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled) {
      if (tuning.known) known_ = tuning.known("the kernel") != nullptr;
      budget_ = tuning.abort.ToText();
      schedule_ = tuning.schedule;
      return tune_(expression, runners, tuning, on_trial, cancelled);
    };
    queue_ = *JobQueue::Start(*store_, table_, catalogue_, std::move(options));
  }
  int64_t Create(int64_t size, v1::TuningOptions options = {}) {
    const auto created = queue_->Create({.computation = MatMulExpression(size, size, size),
                                         .options = *CheckTuningOptions(options)});
    EXPECT_TRUE(created.ok()) << created.status();
    return std::stoll(created->job().name().substr(sizeof("tuningJobs/") - 1));
  }
  static v1::TuningOptions Scheduled(const std::string& schedule) {
    v1::TuningOptions options;
    options.set_schedule(schedule);
    return options;
  }
  // A job as a process that was killed leaves it.
  int64_t Abandoned(v1::TuningJobState state) {
    StartQueue();
    // So that it does not begin.
    TuningDevice& cpu = catalogue_.default_device();
    EXPECT_TRUE(cpu.TryHold("this test"));
    const int64_t number = Create(64);
    queue_.reset();
    cpu.Release();
    v1::TuningJob job = *store_->GetJob(number);
    job.set_state(state);
    EXPECT_TRUE(WriteJob(*store_, number, job).ok());
    return number;
  }
  bool HasState(int64_t number, v1::TuningJobState state) {
    return Eventually([&] { return queue_->Get(number)->state() == state; });
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeTune tune_;
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  LookupTable table_{KeyEnvironment::Of(cpu_.description)};
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, *store_};
  std::unique_ptr<JobQueue> queue_;
  std::atomic<bool> known_ = false;
  std::string budget_;
  std::optional<Schedule> schedule_;
};

TEST_F(JobResumeTest, AStoppedDaemonLeavesItsJobsToTheNextOne) {
  StartQueue();
  const int64_t running = Create(64);
  ASSERT_TRUE(HasState(running, v1::TUNING_JOB_STATE_RUNNING));
  const int64_t queued = Create(65);
  const int64_t paused = Create(66);
  ASSERT_TRUE(queue_->Pause(paused).ok());
  queue_->Drain();
  EXPECT_EQ(queue_->WaitForProgress(running, 99, kLongWait).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(queue_
                ->Create({.computation = MatMulExpression(67, 67, 67),
                          .options = *CheckTuningOptions({})})
                .status()
                .code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_->GetJob(running)->state(), v1::TUNING_JOB_STATE_QUEUED);
  StartQueue();
  tune_.Release();
  tune_.Release();
  EXPECT_TRUE(HasState(running, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_TRUE(HasState(queued, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(queue_->Get(paused)->state(), v1::TUNING_JOB_STATE_PAUSED);
  EXPECT_EQ(queue_->Get(running)->restarts(), 1);
  EXPECT_EQ(queue_->Get(running)->request_id(), "");
}

TEST_F(JobResumeTest, WhatItsDeviceGivesUpWhileTheDaemonStopsIsNotCancelled) {
  StartQueue();
  const int64_t job = Create(64);
  ASSERT_TRUE(HasState(job, v1::TUNING_JOB_STATE_RUNNING));
  tune_.Fail(absl::CancelledError("no runner is started any more"));
  queue_->BeginToDrain();
  EXPECT_TRUE(
      Eventually([&] { return store_->GetJob(job)->state() == v1::TUNING_JOB_STATE_QUEUED; }));
  tune_.Fail(absl::OkStatus());
  StartQueue();
  tune_.Release();
  EXPECT_TRUE(HasState(job, v1::TUNING_JOB_STATE_SUCCEEDED));
}

TEST_F(JobResumeTest, AJobKeepsToItsSchedule) {
  StartQueue();
  const auto created = queue_->Create(*CheckJobRequest(
      MatMulExpression(64, 64, 64), {.options = Scheduled("L2: tile k=16")}, catalogue_));
  ASSERT_TRUE(created.ok()) << created.status();
  const v1::KernelKey key = created->job().key();
  EXPECT_THAT(key.schedule(), HasSubstr("d3=16"));
  ASSERT_TRUE(HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  queue_->Drain();
  schedule_.reset();
  StartQueue();
  tune_.Release();
  ASSERT_TRUE(HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(queue_->Get(1)->key().SerializeAsString(), key.SerializeAsString());
  ASSERT_TRUE(schedule_.has_value());
  EXPECT_THAT(schedule_->CanonicalText(), HasSubstr("k=16"));
  EXPECT_TRUE(table_.FindRecord(key).ok());
}

TEST_F(JobResumeTest, WhatTheJournalHasIsKnownAndPaidFor) {
  const int64_t number = Abandoned(v1::TUNING_JOB_STATE_RUNNING);
  v1::TuningJob job = *store_->GetJob(number);
  // A trial of an earlier run: found in the journal by the digest that a running one would have.
  TrialJournal journal(*store_, {number, 1}, job.key(), {}, absl::Now);
  Trial trial{
      1,
      DefaultParameters(MatMulExpression(64, 64, 64), OpenMpSimdRegistersModel(), FakeCpu()),
      {},
      "the kernel"};
  trial.measurement.times_ns = {700'000};
  v1::TuningProgress progress;
  progress.set_elapsed_ns(45'000'000'000);
  progress.set_device_time_ns(45'000'000'000);
  journal.Begin(trial.parameters, trial.identity);
  journal.End(trial, progress);
  journal.Begin(trial.parameters, "in flight when the daemon was killed");
  tune_.Release();
  StartQueue();
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_TRUE(known_);
  // Of 60 s.
  EXPECT_THAT(budget_, HasSubstr("15"));
  EXPECT_EQ(queue_->Get(number)->progress().trials(), 2);
  // Whoever has seen the step of the first trial is not told older numbers.
  EXPECT_GT(queue_->Get(number)->progress().sequence(), job.progress().sequence() + 4);
  EXPECT_EQ(queue_->Get(number)->progress().elapsed_ns(), 45'000'001'000);
  const auto trials = store_->ListTrials(number, 0, 0);
  ASSERT_THAT(*trials, SizeIs(3));
  EXPECT_EQ(trials->at(0).time_ns(), 700'000);
  EXPECT_EQ(trials->at(1).outcome(), "");
  EXPECT_EQ(trials->at(2).number(), 3);
}

TEST_F(JobResumeTest, DeviceTimeIsABudget) {
  StartQueue();
  v1::TuningOptions options;
  options.set_max_device_time_ns(20'000'000'000);
  tune_.Release();
  ASSERT_TRUE(HasState(Create(64, options), v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_THAT(budget_, HasSubstr("20"));
}

TEST_F(JobResumeTest, AJobWhoseDeviceIsNotAttachedWaits) {
  const int64_t number = Abandoned(v1::TUNING_JOB_STATE_RUNNING);
  v1::TuningJob job = *store_->GetJob(number);
  job.set_devices(0, "devices/gone");
  ASSERT_TRUE(WriteJob(*store_, number, job).ok());
  StartQueue();
  EXPECT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_THAT(queue_->Get(number)->progress().latest_reason(),
              HasSubstr("waits for a daemon that has devices/gone"));
  // It holds up nobody, and can be cancelled.
  tune_.Release();
  EXPECT_TRUE(HasState(Create(65), v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(queue_->Cancel(number)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(store_->GetJob(number)->state(), v1::TUNING_JOB_STATE_CANCELLED);
}

TEST_F(JobResumeTest, AJobThatNobodyHasTakenIsLeftToWhoHasItsDevices) {
  const int64_t own = Abandoned(v1::TUNING_JOB_STATE_QUEUED);
  v1::TuningJob job = *store_->GetJob(own);
  job.set_devices(0, "devices/gone");
  job.clear_name();
  const int64_t number = store_->InsertJob(job)->claim.number;
  StartQueue();
  const JobQueue::Counts counts = queue_->CountJobs();
  EXPECT_EQ(counts.queued + counts.running, 1);
  EXPECT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_THAT(*queue_->List(0, 10, {.states = {v1::TUNING_JOB_STATE_QUEUED}}),
              ::testing::Not(::testing::IsEmpty()));
  EXPECT_EQ(queue_->Pause(number)->state(), v1::TUNING_JOB_STATE_PAUSED);
  EXPECT_EQ(queue_->Cancel(number)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(queue_->Pause(number).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(queue_->Cancel(number)->state(), v1::TUNING_JOB_STATE_CANCELLED);
}

TEST_F(JobResumeTest, AJobWithWhichTwoDaemonsDiedIsSetAside) {
  const int64_t number = Abandoned(v1::TUNING_JOB_STATE_RUNNING);
  // Dies with its second daemon, too, as it was on the disk while that ran.
  StartQueue();
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_RUNNING));
  const v1::TuningJob running = *store_->GetJob(number);
  EXPECT_EQ(running.state(), v1::TUNING_JOB_STATE_RUNNING);
  EXPECT_EQ(running.deaths(), 1);
  queue_.reset();
  ASSERT_TRUE(WriteJob(*store_, number, running).ok());
  // One trial is in the journal since: the second death is the first one after it.
  StartQueue();
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_RUNNING));
  EXPECT_EQ(store_->GetJob(number)->deaths(), 1);
  tune_.reports_its_trial = false;
  queue_.reset();
  v1::TuningJob without_trial = *store_->GetJob(number);
  without_trial.set_state(v1::TUNING_JOB_STATE_RUNNING);
  ASSERT_TRUE(WriteJob(*store_, number, without_trial).ok());
  StartQueue();
  EXPECT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_PAUSED);
  EXPECT_THAT(queue_->Get(number)->progress().latest_reason(),
              HasSubstr("the daemon ended 2 times while it ran"));
  // Others go on, and so does it if somebody wants that.
  tune_.Release();
  EXPECT_TRUE(HasState(Create(65), v1::TUNING_JOB_STATE_SUCCEEDED));
  ASSERT_TRUE(queue_->Resume(number).ok());
  tune_.Release();
  EXPECT_TRUE(HasState(number, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(store_->GetJob(number)->deaths(), 0);
}

TEST_F(JobResumeTest, AJobThatCannotGoOnFailsAndSaysWhy) {
  v1::TuningJob unreadable;
  unreadable.set_state(v1::TUNING_JOB_STATE_RUNNING);
  unreadable.add_devices("devices/cpu");
  unreadable.mutable_progress()->set_sequence(5);
  const int64_t second = store_->InsertJob(unreadable)->claim.number;
  StartQueue();
  EXPECT_EQ(queue_->Get(second)->state(), v1::TUNING_JOB_STATE_FAILED);
  EXPECT_THAT(queue_->Get(second)->error().message(),
              HasSubstr("the daemon ended before the job did"));
  const auto news = queue_->WaitForProgress(second, 0, kLongWait);
  ASSERT_THAT(*news, SizeIs(1));
  EXPECT_EQ(news->front().sequence(), 6);
}

TEST_F(JobResumeTest, TheBestSoFarIsPublishedAtOnceAndWithdrawnIfTheSearchFails) {
  StartQueue();
  const int64_t number = Create(64);
  const v1::KernelKey key = queue_->Get(number)->key();
  ASSERT_TRUE(Eventually([&] { return table_.FindRecord(key).ok(); }));
  EXPECT_TRUE(table_.FindRecord(key)->is_provisional());
  EXPECT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_RUNNING);
  tune_.Fail(Refuted("wrong on new inputs"));
  tune_.Release();
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_FAILED));
  EXPECT_FALSE(table_.FindRecord(key).ok());
}

TEST_F(JobResumeTest, AThousandEqualRequestsAtTheSameTimeAreOneJob) {
  StartQueue();
  const Expression expression = MatMulExpression(64, 64, 64);
  std::atomic<int> joined = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 20; ++client) {
    clients.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        const auto created =
            queue_->Create({.computation = expression, .options = *CheckTuningOptions({})});
        ASSERT_TRUE(created.ok()) << created.status();
        if (created->joined()) ++joined;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(joined, 999);
  EXPECT_THAT(*queue_->List(0, 10), SizeIs(1));
}

// Bytes of memory that this process uses.
int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGE_SIZE);
}

TEST_F(JobResumeTest, TenThousandQueuedJobsAreSmall) {
  StartQueue();
  Create(64);
  const int64_t before = ResidentBytes();
  // Several at once share the waits for the disk.
  std::atomic<int64_t> created = 0;
  std::vector<std::thread> creating;
  for (int thread = 0; thread < 16; ++thread) {
    creating.emplace_back([&] {
      for (int64_t n = created++; n < 10'000; n = created++) Create(100 + n);
    });
  }
  for (std::thread& thread : creating) thread.join();
  EXPECT_LT(ResidentBytes() - before, int64_t{200} << 20);
  RecordProperty("bytes_per_job", static_cast<int>((ResidentBytes() - before) / 10'000));
  EXPECT_EQ(queue_->CountJobs().queued, 10'000);
}

}  // namespace
}  // namespace mdh::job_resume_test

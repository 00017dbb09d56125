// What is acknowledged of jobs is on the disk, what cannot be written is refused or written later,
// and a disk that hangs holds up nobody who does not write.
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/tuning_request.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/store_double.h"
#include "tests/server/temporary_directory.h"

namespace mdh::job_writing_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const Status kFull = absl::ResourceExhaustedError("the disk is full");

class JobWritingTest : public ::testing::Test {
 protected:
  JobWritingTest() {
    disk_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      table_.Apply(kind, record);
    });
    JobQueueOptions options;
    options.lack_pause = absl::Milliseconds(5);
    options.tune = [this](const Expression& expression, absl::Span<Runner* const> runners,
                          const TuningOptions& tuning,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled) {
      ++runs_;
      Result<TuningResult> result = tune_(expression, runners, tuning, on_trial, cancelled);
      if (result.ok()) result->incomplete = incomplete_;
      return result;
    };
    queue_ = *JobQueue::Start(store_, table_, catalogue_, std::move(options));
  }
  ~JobWritingTest() override {
    store_.Go();
    store_.FailWrites(absl::OkStatus());
  }
  int64_t Create(int64_t size) {
    const auto created = queue_->Create(
        {.computation = MatMulExpression(size, size, size), .options = *CheckTuningOptions({})});
    EXPECT_TRUE(created.ok()) << created.status();
    return *ParseJobName(created->job().name());
  }
  bool HasState(int64_t number, v1::TuningJobState state) {
    return Eventually([&] { return queue_->Get(number)->state() == state; });
  }
  // As the next daemon would find it.
  v1::TuningJobState StoredState(int64_t number) { return disk_->GetJob(number)->state(); }
  // One that runs and has made a trial.
  int64_t Running(int64_t size) {
    const int64_t number = Create(size);
    EXPECT_TRUE(HasState(number, v1::TUNING_JOB_STATE_RUNNING));
    // Which is the last that the search does by itself.
    const v1::KernelKey key = queue_->Get(number)->key();
    EXPECT_TRUE(Eventually([&] { return table_.FindRecord(key).ok(); }));
    return number;
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> disk_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  StoreDouble store_{*disk_};
  FakeTune tune_;
  std::atomic<int> runs_ = 0;
  Status incomplete_;  // of searches; set before they begin
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  LookupTable table_{KeyEnvironment::Of(cpu_.description)};
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, store_};
  std::unique_ptr<JobQueue> queue_;
};

TEST_F(JobWritingTest, WhatARunningJobIsAskedForIsOnTheDiskBeforeItIsAcknowledged) {
  const int64_t number = Running(64);
  EXPECT_EQ(StoredState(number), v1::TUNING_JOB_STATE_RUNNING);
  // The search takes its time to end.
  store_.Hang();
  std::thread call([&] { EXPECT_TRUE(queue_->Pause(number).ok()); });
  ASSERT_TRUE(Eventually([&] { return store_.hanging() == 1; }));
  EXPECT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_RUNNING);
  store_.Go();
  call.join();
  EXPECT_EQ(StoredState(number), v1::TUNING_JOB_STATE_PAUSED);
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_PAUSED));
  ASSERT_TRUE(queue_->Resume(number).ok());
  EXPECT_NE(StoredState(number), v1::TUNING_JOB_STATE_PAUSED);
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_RUNNING));
  ASSERT_TRUE(queue_->Cancel(number).ok());
  EXPECT_EQ(StoredState(number), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_TRUE(disk_->UnfinishedJobs()->empty());
  EXPECT_TRUE(HasState(number, v1::TUNING_JOB_STATE_CANCELLED));
}

TEST_F(JobWritingTest, WhatCannotBeWrittenIsRefusedAndChangesNothing) {
  const int64_t running = Running(64);
  const int64_t queued = Create(65);
  const int64_t paused = Create(66);
  ASSERT_TRUE(queue_->Pause(paused).ok());
  store_.FailWrites(kFull);
  for (const int64_t number : {running, queued, paused}) {
    const v1::TuningJobState before = queue_->Get(number)->state();
    EXPECT_EQ(queue_->Cancel(number).status(), kFull);
    const Result<v1::TuningJob> other =
        number == paused ? queue_->Resume(number) : queue_->Pause(number);
    EXPECT_EQ(other.status(), kFull);
    EXPECT_EQ(queue_->Get(number)->state(), before);
    EXPECT_EQ(StoredState(number), before);
  }
  v1::TuningOptions longer;
  longer.set_budget_ns(int64_t{3600} * 1'000'000'000);
  EXPECT_EQ(queue_
                ->Create({.computation = MatMulExpression(65, 65, 65),
                          .options = *CheckTuningOptions(longer)})
                .status(),
            kFull);
  EXPECT_LT(queue_->Get(queued)->options().budget_ns(), longer.budget_ns());
  // All of it works when there is room.
  store_.FailWrites(absl::OkStatus());
  EXPECT_TRUE(queue_->Resume(paused).ok());
  for (const int64_t number : {queued, paused, running}) {
    EXPECT_TRUE(queue_->Cancel(number).ok());
    EXPECT_EQ(StoredState(number), v1::TUNING_JOB_STATE_CANCELLED);
  }
}

// A daemon that starts while its disk is full.
TEST_F(JobWritingTest, JobsBeginWhenTheDiskAnswersAndAreRefusedByNameUntilThen) {
  const int64_t number = Create(64);
  queue_->Drain();
  queue_.reset();
  DeviceCatalogue opened_later({}, {}, store_);
  JobQueueOptions options;
  options.tune = [this](const auto&... arguments) { return tune_(arguments...); };
  queue_ = *JobQueue::Start(store_, table_, opened_later, std::move(options));
  FakeDevices devices;
  devices.Add("devices/cpu", FakeCpu());
  opened_later.Open(devices.Take(), {});
  store_.FailWrites(kFull);
  EXPECT_EQ(queue_->Begin(), kFull);
  EXPECT_EQ(queue_->Cancel(number).status(), kFull);
  EXPECT_EQ(queue_->Create({.computation = MatMulExpression(65, 65, 65), .options = {}}).status(),
            kFull);
  EXPECT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_QUEUED);
  queue_->LookAfter();
  EXPECT_EQ(queue_->Cancel(number).status(), kFull);
  store_.FailWrites(absl::OkStatus());
  queue_->LookAfter();
  EXPECT_TRUE(HasState(number, v1::TUNING_JOB_STATE_RUNNING));
  EXPECT_EQ(queue_->Get(number)->restarts(), 1);
  EXPECT_TRUE(queue_->Cancel(number).ok());
  queue_.reset();
}

TEST_F(JobWritingTest, WhatASearchHasFoundIsStoredWhenThereIsRoom) {
  const int64_t number = Running(64);
  store_.FailWrites(kFull);
  tune_.time_ns = 500'000;
  tune_.Release();
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_SUCCEEDED));
  const v1::TuningJob job = *queue_->Get(number);
  // It is found, with its kernel, and nothing of it is on the disk.
  EXPECT_FALSE(table_.FindRecord(job.key())->is_provisional());
  EXPECT_EQ(queue_->FindUnsavedKernel(*ParseRecordName(job.record()))->source(), "int fake;");
  EXPECT_EQ(StoredState(number), v1::TUNING_JOB_STATE_RUNNING);
  EXPECT_EQ(queue_->SaveUnsaved(), kFull);
  store_.FailWrites(absl::OkStatus());
  EXPECT_TRUE(queue_->SaveUnsaved().ok());
  EXPECT_EQ(StoredState(number), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(disk_->GetKernel(*ParseRecordName(job.record()))->source(), "int fake;");
  EXPECT_FALSE(queue_->FindUnsavedKernel(*ParseRecordName(job.record())).has_value());
}

TEST_F(JobWritingTest, TrialsThatCouldNotBeStoredAreStoredLater) {
  const JobClaim claim = disk_->InsertJob(v1::TuningJob())->claim;
  const int64_t number = claim.number;
  TrialJournal journal(store_, claim, v1::KernelKey(), {}, absl::Now);
  const auto make = [&](const std::string& identity) {
    const Expression expression = MatMulExpression(64, 64, 64);
    Trial trial{
        1, DefaultParameters(expression, OpenMpSimdRegistersModel(), FakeCpu()), {}, identity};
    trial.measurement.times_ns = {700'000};
    journal.Begin(trial.parameters, identity);
    journal.End(trial, v1::TuningProgress());
  };
  store_.FailWrites(kFull);
  make("the first");
  EXPECT_THAT(*disk_->ListTrials(number, 0, 0), SizeIs(0));
  store_.FailWrites(absl::OkStatus());
  make("the second");
  EXPECT_THAT(*disk_->ListTrials(number, 0, 0), SizeIs(2));
  EXPECT_THAT(journal.TakeUnwritten(), SizeIs(0));
  // What is left at the end.
  store_.FailWrites(kFull);
  make("the third");
  UnsavedWork unsaved(table_);
  unsaved.Put(claim, journal.TakeUnwritten());
  EXPECT_EQ(unsaved.Save(store_), kFull);
  store_.FailWrites(absl::OkStatus());
  EXPECT_TRUE(unsaved.Save(store_).ok());
  EXPECT_THAT(*disk_->ListTrials(number, 0, 0), SizeIs(3));
}

TEST_F(JobWritingTest, WhatWasShownToBeWrongIsNotFoundEvenIfItCannotBeRemoved) {
  const int64_t number = Running(64);
  const v1::KernelKey key = queue_->Get(number)->key();
  const std::string id = *ParseRecordName(table_.FindRecord(key)->name());
  tune_.Fail(Refuted("wrong on new inputs"));
  store_.FailWrites(kFull);
  tune_.Release();
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_FAILED));
  EXPECT_FALSE(table_.FindRecord(key).ok());
  EXPECT_TRUE(disk_->GetRecord(id).ok());
  store_.FailWrites(absl::OkStatus());
  EXPECT_TRUE(queue_->SaveUnsaved().ok());
  EXPECT_EQ(disk_->GetRecord(id).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(StoredState(number), v1::TUNING_JOB_STATE_FAILED);
}

TEST_F(JobWritingTest, AStoreThatHangsHoldsUpNobodyWhoDoesNotWrite) {
  const int64_t running = Running(64);
  const int64_t queued = Create(65);
  store_.Hang();
  std::vector<std::thread> calls;
  calls.emplace_back([&] { EXPECT_TRUE(queue_->Cancel(queued).ok()); });
  calls.emplace_back([&] { EXPECT_TRUE(queue_->Pause(running).ok()); });
  calls.emplace_back([&] {
    EXPECT_TRUE(queue_
                    ->Create({.computation = MatMulExpression(66, 66, 66),
                              .options = *CheckTuningOptions({}),
                              .request_id = "r"})
                    .ok());
  });
  calls.emplace_back([&] { EXPECT_TRUE(queue_->SaveUnsaved().ok()); });
  ASSERT_TRUE(Eventually([&] { return store_.hanging() == 3; }));
  const absl::Time begin = absl::Now();
  for (int n = 0; n < 100; ++n) {
    EXPECT_EQ(queue_->Get(running)->state(), v1::TUNING_JOB_STATE_RUNNING);
    EXPECT_EQ(queue_->Get(queued)->state(), v1::TUNING_JOB_STATE_QUEUED);
    EXPECT_THAT(*queue_->List(0, 10, {.states = {v1::TUNING_JOB_STATE_QUEUED}}), SizeIs(1));
    EXPECT_THAT(*queue_->WaitForProgress(running, 0, kLongWait), SizeIs(testing::Ge(2u)));
    EXPECT_EQ(queue_->CountJobs().queued, 1);
    EXPECT_EQ(queue_->CountQueued(catalogue_.default_device()), 1);
    EXPECT_TRUE(table_.FindRecord(queue_->Get(running)->key()).ok());
    // Joins what needs no writing.
    EXPECT_EQ(store_.hanging(), 3);
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
  store_.Go();
  for (std::thread& call : calls) call.join();
  EXPECT_EQ(StoredState(queued), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_TRUE(HasState(running, v1::TUNING_JOB_STATE_PAUSED));
}

TEST_F(JobWritingTest, AJobThatIsBeingCancelledDoesNotBegin) {
  const int64_t running = Running(64);
  const int64_t queued = Create(65);
  store_.Hang();
  std::thread call([&] { EXPECT_TRUE(queue_->Cancel(queued).ok()); });
  ASSERT_TRUE(Eventually([&] { return store_.hanging() == 1; }));
  tune_.Release();
  ASSERT_TRUE(Eventually([&] { return store_.hanging() > 1; }));  // with what it has found
  store_.Go();
  call.join();
  EXPECT_TRUE(HasState(running, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(queue_->Get(queued)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(runs_, 1);
}

// ---- What the machine lacks for a while ----

TEST_F(JobWritingTest, AJobForWhichTheMachineLacksSomethingTriesAgain) {
  for (const Status& lack : {kFull, absl::UnavailableError("the runner ended: SIGKILL")}) {
    SCOPED_TRACE(lack.ToString());
    runs_ = 0;
    tune_.Fail(lack);
    const int64_t number = Running(lack == kFull ? 64 : 65);
    const v1::KernelKey key = queue_->Get(number)->key();
    tune_.Release();
    ASSERT_TRUE(Eventually([&] { return runs_ == 2; }));
    // The best trial stays.
    EXPECT_TRUE(table_.FindRecord(key)->is_provisional());
    tune_.Fail(absl::OkStatus());
    tune_.Release();
    EXPECT_TRUE(HasState(number, v1::TUNING_JOB_STATE_SUCCEEDED));
    EXPECT_FALSE(table_.FindRecord(key)->is_provisional());
  }
}

TEST_F(JobWritingTest, ALackThatDoesNotPassLeavesTheBestTrial) {
  tune_.Fail(kFull);
  const int64_t number = Running(64);
  for (int n = 0; n < 5; ++n) tune_.Release();
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_FAILED));
  EXPECT_THAT(queue_->Get(number)->error().message(), HasSubstr("the disk is full"));
  EXPECT_TRUE(table_.FindRecord(queue_->Get(number)->key())->is_provisional());
}

TEST_F(JobWritingTest, WhatCouldNotBeMeasuredOnceMoreIsMarked) {
  incomplete_ = absl::UnavailableError("the runner ended: SIGKILL");
  const int64_t number = Running(64);
  tune_.Release();
  ASSERT_TRUE(Eventually([&] { return runs_ == 2; }));
  const v1::KernelKey key = queue_->Get(number)->key();
  EXPECT_TRUE(table_.FindRecord(key)->is_provisional());
  for (int n = 0; n < 4; ++n) tune_.Release();
  ASSERT_TRUE(HasState(number, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(runs_, 5);
  EXPECT_FALSE(table_.FindRecord(key)->is_provisional());
  // So that it is measured again when the machine is idle.
  EXPECT_TRUE(table_.FindRecord(key)->is_disturbed());
}

TEST_F(JobWritingTest, ACancelHoldsWhateverTheSearchMeets) {
  const int64_t number = Running(64);
  tune_.Fail(absl::InternalError("broken"));
  ASSERT_TRUE(queue_->Cancel(number).ok());
  ASSERT_TRUE(Eventually([&] { return queue_->CountJobs().running == 0; }));
  EXPECT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(StoredState(number), v1::TUNING_JOB_STATE_CANCELLED);
}

}  // namespace
}  // namespace mdh::job_writing_test

#include "server/jobs/job_queue.h"

#include <sqlite3.h>

#include <functional>
#include <set>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/tuning_request.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh::job_queue_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class JobQueueTest : public ::testing::Test {
 protected:
  JobQueueTest() { StartQueue({}); }
  void StartQueue(JobQueueOptions options) {
    queue_.reset();
    options.tune = std::ref(tune_);
    store_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      table_.Apply(kind, record);
    });
    queue_ = *JobQueue::Start(*store_, table_, catalogue_, std::move(options));
  }

  Result<v1::CreateTuningJobResponse> Create(int64_t size, bool force = false,
                                             const std::string& request_id = "") {
    return queue_->Create({.computation = MatMulExpression(size, size, size),
                           .options = *CheckTuningOptions({}),
                           .force = force,
                           .request_id = request_id});
  }
  // Waits until the job has ended.
  v1::TuningJob WaitForEnd(int64_t number) {
    int64_t sequence = 0;
    const absl::Time limit = absl::Now() + kLongWait;
    while (absl::Now() < limit) {
      const auto news = queue_->WaitForProgress(number, sequence, kLongWait);
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
    ASSERT_TRUE(queue_->WaitForProgress(number, 2, kLongWait).ok());
    ASSERT_EQ(queue_->Get(number)->state(), v1::TUNING_JOB_STATE_RUNNING);
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeTune tune_;
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  LookupTable table_{KeyEnvironment::Of(cpu_.description)};
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, *store_};
  std::unique_ptr<JobQueue> queue_;
};

TEST_F(JobQueueTest, AJobEndsWithARecordThatLookupsFind) {
  tune_.Release();
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

// Nothing can be written to the database while it exists.
class WriteBlock {
 public:
  explicit WriteBlock(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    sqlite3_busy_timeout(database_, 10'000);  // the queue may be writing
    Execute("BEGIN IMMEDIATE");
  }
  ~WriteBlock() {
    Execute("ROLLBACK");
    sqlite3_close(database_);
  }

 private:
  void Execute(const char* sql) {
    EXPECT_EQ(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  }
  sqlite3* database_ = nullptr;
};

TEST_F(JobQueueTest, ADiskThatIsWaitedForHoldsUpOnlyWhoWrites) {
  ASSERT_TRUE(Create(16).ok());
  WaitUntilRunning(1);
  std::vector<Result<v1::CreateTuningJobResponse>> created(9, absl::UnknownError(""));
  std::vector<std::thread> threads;
  {
    const WriteBlock block(directory_.File("mdhd.sqlite"));
    for (size_t n = 0; n < created.size(); ++n) {
      threads.emplace_back([&, n] { created[n] = Create(n == 0 ? 32 : 64); });
    }
    absl::SleepFor(absl::Milliseconds(100));
    const absl::Time begin = absl::Now();
    EXPECT_EQ(queue_->CountJobs().running, 1);
    EXPECT_EQ(queue_->Get(1)->state(), v1::TUNING_JOB_STATE_RUNNING);
    EXPECT_TRUE(queue_->WaitForProgress(1, 0, kLongWait).ok());
    EXPECT_LT(absl::Now() - begin, absl::Seconds(2));  // SQLite waits for 5 s
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> names;
  int joined = 0;
  for (const auto& one : created) {
    ASSERT_TRUE(one.ok()) << one.status();
    names.insert(one->job().name());
    joined += one->joined() ? 1 : 0;
  }
  EXPECT_THAT(names, SizeIs(2));
  EXPECT_EQ(joined, 7);
  EXPECT_EQ(queue_->CountJobs().queued, 2);
  for (const std::string& name : names) EXPECT_TRUE(queue_->Cancel(*ParseJobName(name)).ok());
  EXPECT_EQ(queue_->CountJobs().queued, 0);
}

TEST_F(JobQueueTest, JobsThatAreBeingWrittenCountAsWaiting) {
  JobQueueOptions options;
  options.max_queued = 3;
  StartQueue(std::move(options));
  ASSERT_TRUE(Create(16).ok());
  WaitUntilRunning(1);
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  {
    const WriteBlock block(directory_.File("mdhd.sqlite"));
    for (int n = 1; n <= 5; ++n) {
      threads.emplace_back(
          [&, n] { refused += absl::IsResourceExhausted(Create(16 + n).status()) ? 1 : 0; });
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(queue_->CountJobs().queued, 3);
}

TEST_F(JobQueueTest, ConcurrentRequestsOfOneIdAreOneJob) {
  std::vector<Result<v1::CreateTuningJobResponse>> created(8, absl::UnknownError(""));
  std::vector<std::thread> threads;
  {
    const WriteBlock block(directory_.File("mdhd.sqlite"));
    for (auto& one : created) {
      threads.emplace_back([&] { one = Create(64, /*force=*/true, "the id"); });
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : created) {
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(one->job().name(), "tuningJobs/1");
  }
}

TEST_F(JobQueueTest, ProgressIsNumberedAndCanBeResumed) {
  tune_.Release();
  ASSERT_TRUE(Create(64).ok());
  WaitForEnd(1);
  const auto all = queue_->WaitForProgress(1, 0, kLongWait);
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
  EXPECT_THAT(*queue_->WaitForProgress(1, 3, kLongWait), SizeIs(1));
  // Who asks for more than there is still learns that the job has ended.
  const auto beyond = queue_->WaitForProgress(1, 99, kLongWait);
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
  tune_.Release();
  ASSERT_TRUE(Create(64, false, "r").ok());
  WaitForEnd(1);
  EXPECT_EQ(Create(64, true, "r")->job().name(), "tuningJobs/1");
  const Status other = Create(65, false, "r").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(other.message()), HasSubstr("request_id 'r' was used"));
}

TEST_F(JobQueueTest, AKnownResultIsNotSearchedAgain) {
  tune_.Release();
  ASSERT_TRUE(Create(64).ok());
  WaitForEnd(1);
  const v1::TuningJob job = Create(64)->job();
  EXPECT_EQ(job.name(), "tuningJobs/2");
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(job.record().empty());
  EXPECT_THAT(tune_.starts(), SizeIs(1));
}

TEST_F(JobQueueTest, ForceSearchesAgainFromTheKnownResultAndKeepsTheBetter) {
  tune_.Release();
  ASSERT_TRUE(Create(64).ok());
  const v1::KernelKey key = WaitForEnd(1).key();
  tune_.time_ns = 2'000'000;
  tune_.Release();
  ASSERT_TRUE(Create(64, true).ok());
  EXPECT_EQ(WaitForEnd(2).state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_THAT(tune_.starts(), ElementsAre(0, 1));
  EXPECT_EQ(table_.FindRecord(key)->time_ns(), 1'000'000);
  tune_.time_ns = 500'000;
  tune_.Release();
  ASSERT_TRUE(Create(64, true).ok());
  WaitForEnd(3);
  EXPECT_EQ(table_.FindRecord(key)->time_ns(), 500'000);
}

TEST_F(JobQueueTest, AnotherStateOfTheCachesIsSearchedAnew) {
  const auto create = [&](v1::CacheState state) {
    v1::TuningOptions options;
    options.set_cache_state(state);
    tune_.Release();
    const Result<v1::CreateTuningJobResponse> created = queue_->Create(
        {.computation = MatMulExpression(64, 64, 64), .options = *CheckTuningOptions(options)});
    EXPECT_TRUE(created.ok()) << created.status();
    return WaitForEnd(*ParseJobName(created->job().name()));
  };
  const v1::KernelKey key = create(v1::CACHE_STATE_UNSPECIFIED).key();
  EXPECT_EQ(table_.FindRecord(key)->cache_state(), v1::CACHE_STATE_WARM);
  create(v1::CACHE_STATE_WARM);
  EXPECT_THAT(tune_.starts(), SizeIs(1));
  // Slower, and yet what is known of cold caches.
  tune_.time_ns = 2'000'000;
  create(v1::CACHE_STATE_COLD);
  EXPECT_THAT(tune_.starts(), SizeIs(2));
  EXPECT_EQ(table_.FindRecord(key)->cache_state(), v1::CACHE_STATE_COLD);
  EXPECT_EQ(table_.FindRecord(key)->time_ns(), 2'000'000);
  EXPECT_FALSE(table_.FindRecord(key)->fits_in_cache());
  for (const v1::CacheState state : {v1::CACHE_STATE_UNSPECIFIED, v1::CACHE_STATE_COLD}) {
    create(state);
    EXPECT_THAT(tune_.starts(), SizeIs(2));
  }
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

TEST_F(JobQueueTest, TheSuccessorOfAJobThatIsBeingCancelledIsJoined) {
  ASSERT_TRUE(Create(64).ok());
  WaitUntilRunning(1);
  ASSERT_TRUE(queue_->Cancel(1).ok());
  // Whether the first one has ended by now or not.
  const v1::CreateTuningJobResponse second = *Create(64, true);
  EXPECT_FALSE(second.joined());
  WaitForEnd(1);
  EXPECT_TRUE(Create(64, true)->joined());
  EXPECT_THAT(*queue_->List(0, 10), SizeIs(2));
}

TEST_F(JobQueueTest, AFullQueueRefuses) {
  StartQueue({.max_queued = 1});
  ASSERT_TRUE(Create(64).ok());
  WaitUntilRunning(1);
  ASSERT_TRUE(Create(65).ok());
  EXPECT_EQ(Create(66).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(JobQueueTest, WithoutACompilerTuningIsRefused) {
  FakeDevice without(FakeCpu());
  without.start = absl::FailedPreconditionError("no compiler was found");
  std::vector<std::unique_ptr<TuningDevice>> devices;
  devices.push_back(TuningDevice::Start({.name = "devices/cpu", .start = StarterOf(without)},
                                        without.description));
  DeviceCatalogue catalogue(std::move(devices), {}, {}, *store_);
  queue_ = *JobQueue::Start(*store_, table_, catalogue, {});
  const Status status = Create(64).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "no compiler was found");
  queue_.reset();
}

TEST_F(JobQueueTest, AFailedSearchFailsItsJobOnly) {
  tune_.Fail(absl::FailedPreconditionError("no candidate was valid"));
  tune_.Release();
  ASSERT_TRUE(Create(64).ok());
  const v1::TuningJob job = WaitForEnd(1);
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_FAILED);
  EXPECT_EQ(job.error().message(), "no candidate was valid");
  EXPECT_EQ(job.error().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  tune_.Fail(absl::OkStatus());
  tune_.Release();
  ASSERT_TRUE(Create(65).ok());
  EXPECT_EQ(WaitForEnd(2).state(), v1::TUNING_JOB_STATE_SUCCEEDED);
}

// The runner judges: what is right twice raises the peaks.
TEST_F(JobQueueTest, ATimeThatThePeaksDoNotExplainIsStored) {
  tune_.time_ns = 300;  // 524,288 operations at 1e12 per second take 524 ns
  tune_.Release();
  ASSERT_TRUE(Create(64).ok());
  const v1::TuningJob job = WaitForEnd(1);
  EXPECT_EQ(job.state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(table_.FindRecord(job.key())->time_ns(), 300);
}

TEST_F(JobQueueTest, ADisturbedResultIsSearchedAgainWhenSomeoneAsks) {
  tune_.is_disturbed = true;
  tune_.Release();
  ASSERT_TRUE(Create(64).ok());
  EXPECT_TRUE(table_.FindRecord(WaitForEnd(1).key())->is_disturbed());
  tune_.is_disturbed = false;
  tune_.time_ns = 2'000'000;
  tune_.Release();
  const Result<v1::CreateTuningJobResponse> again = Create(64);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->note(), MatchesRegex("searches anew; there is a record of a search of .*, "
                                          "during which others used the machine"));
  EXPECT_EQ(again->search_time_ns(), 0);
  const v1::TuningRecord record = *table_.FindRecord(WaitForEnd(2).key());
  EXPECT_FALSE(record.is_disturbed());
  EXPECT_EQ(record.time_ns(), 2'000'000);
}

TEST_F(JobQueueTest, OldProgressIsForgottenBeyondTheLimits) {
  StartQueue({.max_progress_steps = 2, .max_recent = 1});
  tune_.Release();
  ASSERT_TRUE(Create(64).ok());
  WaitForEnd(1);
  EXPECT_THAT(*queue_->WaitForProgress(1, 0, kLongWait), SizeIs(2));
  tune_.Release();
  ASSERT_TRUE(Create(65).ok());
  WaitForEnd(2);
  // The first job is in the store only, with its last step.
  const auto news = queue_->WaitForProgress(1, 0, kLongWait);
  ASSERT_THAT(*news, SizeIs(1));
  EXPECT_EQ(news->front().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(news->front().sequence(), 4);
}

}  // namespace
}  // namespace mdh::job_queue_test

// Two daemons over one store: whose jobs are whose, and who hears of what.
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/tuning_request.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh::job_claims_test {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Hours(1);
constexpr absl::Duration kShort = absl::Milliseconds(20);

// One with a device of the fingerprint that all of them have.
class FakeDaemon {
 public:
  FakeDaemon(Store& store, std::string owner, absl::Duration lease = kLong) {
    devices_.Add("devices/cpu", FakeCpu());
    catalogue_.reset(new DeviceCatalogue(devices_.Take(), {}, {}, store));
    JobQueueOptions options;
    options.owner = std::move(owner);
    options.lease = lease;
    options.is_shared = true;
    options.tune = [this](const Expression& expression, absl::Span<Runner* const> runners,
                          const TuningOptions& tuning,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled) {
      return tune_(expression, runners, tuning, on_trial, cancelled);
    };
    queue_ = *JobQueue::Start(store, table_, *catalogue_, std::move(options));
  }
  Result<v1::CreateTuningJobResponse> Create(int64_t size) {
    return queue_->Create(
        {.computation = MatMulExpression(size, size, size), .options = *CheckTuningOptions({})});
  }
  bool HasState(int64_t number, v1::TuningJobState state) {
    return Eventually([&] { return queue_->Get(number)->state() == state; });
  }
  JobQueue& queue() { return *queue_; }
  FakeTune& tune() { return tune_; }

 private:
  FakeTune tune_;
  FakeDevices devices_;
  LookupTable table_{KeyEnvironment::Of(FakeCpu())};
  std::unique_ptr<DeviceCatalogue> catalogue_;
  std::unique_ptr<JobQueue> queue_;
};

class JobClaimsTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
};

TEST_F(JobClaimsTest, TwinsAreOneJobOnWhicheverDaemonTheyAreAskedFor) {
  FakeDaemon one(*store_, "one"), two(*store_, "two");
  ASSERT_FALSE(one.Create(64)->joined());
  const Result<v1::CreateTuningJobResponse> twin = two.Create(64);
  ASSERT_TRUE(twin.ok()) << twin.status();
  EXPECT_TRUE(twin->joined());
  EXPECT_EQ(twin->job().name(), "tuningJobs/1");
  EXPECT_THAT(twin->note(), HasSubstr("joined tuningJobs/1 of another daemon"));
  EXPECT_EQ(two.Create(65)->job().name(), "tuningJobs/2");
  // When it has ended anybody may ask anew.
  one.tune().Release();
  ASSERT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_FALSE(two.Create(64)->joined());
}

TEST_F(JobClaimsTest, OthersCanPauseResumeAndCancel) {
  FakeDaemon one(*store_, "one"), two(*store_, "two");
  ASSERT_TRUE(one.Create(64).ok());
  ASSERT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  // Nothing happens before the owner has heard of it.
  EXPECT_EQ(two.queue().Pause(1)->state(), v1::TUNING_JOB_STATE_RUNNING);
  one.queue().RenewLeases();
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_PAUSED));
  EXPECT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_PAUSED));
  // It was done, and is not done again.
  ASSERT_TRUE(one.queue().Resume(1).ok());
  one.queue().RenewLeases();
  EXPECT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  ASSERT_TRUE(two.queue().Pause(1).ok());
  one.queue().RenewLeases();
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_PAUSED));
  ASSERT_TRUE(two.queue().Resume(1).ok());
  one.queue().RenewLeases();
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  ASSERT_TRUE(two.queue().Cancel(1).ok());
  EXPECT_EQ(two.queue().Resume(1).status().code(), absl::StatusCode::kFailedPrecondition);
  one.queue().RenewLeases();
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_EQ(two.queue().Cancel(1)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(two.queue().Pause(1).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(JobClaimsTest, AJobThatIsGivenUpIsTakenOverAndItsOwnerStops) {
  FakeDaemon one(*store_, "one", kShort), two(*store_, "two");
  ASSERT_TRUE(one.Create(64).ok());
  ASSERT_TRUE(one.Create(65).ok());
  ASSERT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  two.queue().RenewLeases();  // too early, or not: the lease is short
  absl::SleepFor(3 * kShort);
  two.queue().RenewLeases();
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  // It hears of that when it asks, and has nothing any more.
  one.queue().RenewLeases();
  EXPECT_TRUE(Eventually([&] {
    const JobQueue::Counts counts = one.queue().CountJobs();
    return counts.running + counts.queued + counts.paused == 0;
  }));
  EXPECT_EQ(one.queue().Get(1)->state(), v1::TUNING_JOB_STATE_RUNNING);
  two.tune().Release();
  two.tune().Release();
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_TRUE(one.HasState(2, v1::TUNING_JOB_STATE_SUCCEEDED));
}

// Before it asks, too: what it writes is refused.
TEST_F(JobClaimsTest, AnOwnerThatWasReplacedWritesNothing) {
  FakeDaemon one(*store_, "one", kShort);
  ASSERT_TRUE(one.Create(64).ok());
  ASSERT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  absl::SleepFor(3 * kShort);
  FakeDaemon two(*store_, "two");
  ASSERT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  one.tune().Release();
  EXPECT_TRUE(Eventually([&] { return one.queue().CountJobs().running == 0; }));
  EXPECT_EQ(store_->GetJob(1)->state(), v1::TUNING_JOB_STATE_RUNNING);
  // What it is asked for it passes on.
  ASSERT_TRUE(one.queue().Cancel(1).ok());
  two.queue().RenewLeases();
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_CANCELLED));
}

TEST_F(JobClaimsTest, AWishOutlivesWhoShouldHaveHeardOfIt) {
  auto one = std::make_unique<FakeDaemon>(*store_, "one", kShort);
  ASSERT_TRUE(one->Create(64).ok());
  ASSERT_TRUE(one->HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  ASSERT_TRUE(store_->WishOfJob(1, JobWish::kCancel).ok());
  one.reset();
  absl::SleepFor(3 * kShort);
  FakeDaemon two(*store_, "two");
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_CANCELLED));
}

// As when the answer of the store was lost.
TEST_F(JobClaimsTest, AJobThatADaemonHasWithoutKnowingIsTakenUp) {
  FakeDaemon one(*store_, "one");
  ASSERT_TRUE(one.Create(64).ok());
  ASSERT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  v1::TuningJob job = *store_->GetJob(1);
  job.set_state(v1::TUNING_JOB_STATE_QUEUED);
  job.clear_name();
  ASSERT_TRUE(store_->InsertJob(job, {"one", kLong}).ok());
  one.queue().RenewLeases();
  EXPECT_EQ(one.queue().CountJobs().queued, 1);
  // Another daemon's it is not.
  FakeDaemon two(*store_, "two");
  EXPECT_EQ(two.queue().CountJobs().queued, 0);
}

}  // namespace
}  // namespace mdh::job_claims_test

// Two daemons over one store: whose jobs are whose, and who hears of what.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/tuning_request.h"
#include "server/records/resource_names.h"
#include "server/store/layers/forwarding_store.h"
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
  FakeDaemon(Store& store, std::string owner, absl::Duration lease = kLong,
             absl::Duration patience = kLong) {
    devices_.Add("devices/cpu", FakeCpu());
    catalogue_.reset(new DeviceCatalogue(devices_.Take(), {}, {}, store));
    JobQueueOptions options;
    options.owner = std::move(owner);
    options.lease = lease;
    options.is_shared = true;
    options.owner_patience = patience;
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
  // The same computation always.
  Result<v1::CreateTuningJobResponse> CreateFor(int64_t budget_s, int64_t trials,
                                                std::vector<std::string> awaited = {}) {
    v1::TuningOptions options;
    options.set_budget_ns(budget_s * 1'000'000'000);
    options.set_max_trials(trials);
    return queue_->Create({.computation = MatMulExpression(64, 64, 64),
                           .options = *CheckTuningOptions(options),
                           .awaited = std::move(awaited)});
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

// Renews leases all the time, as a daemon that hears at once of what is wanted.
class Renewing {
 public:
  explicit Renewing(FakeDaemon& daemon)
      : thread_([this, &daemon] {
          while (!is_ending_) {
            daemon.queue().RenewLeases();
            absl::SleepFor(absl::Milliseconds(5));
          }
        }) {}
  ~Renewing() {
    is_ending_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

TEST_F(JobClaimsTest, WhoWantsMoreOfAJobOfAnotherDaemonGetsIt) {
  FakeDaemon one(*store_, "one"), two(*store_, "two");
  ASSERT_TRUE(one.CreateFor(20, 100).ok());
  const Renewing renewing(one);
  const Result<v1::CreateTuningJobResponse> twin = two.CreateFor(60, 50);
  ASSERT_TRUE(twin.ok()) << twin.status();
  EXPECT_TRUE(twin->joined());
  EXPECT_TRUE(twin->extended());
  EXPECT_THAT(twin->note(), HasSubstr("of another daemon and extended it from 20.0 s or 100 "
                                      "trials to 60.0 s or 100 trials"));
  EXPECT_EQ(one.queue().Get(1)->options().budget_ns(), 60'000'000'000);
  EXPECT_EQ(one.queue().Get(1)->options().max_trials(), 100);
  // No limit is more than any; one that wants less changes nothing.
  EXPECT_TRUE(two.CreateFor(30, 0)->extended());
  EXPECT_EQ(one.queue().Get(1)->options().budget_ns(), 60'000'000'000);
  EXPECT_EQ(one.queue().Get(1)->options().max_trials(), 0);
  EXPECT_FALSE(two.CreateFor(30, 10)->extended());
  // What is to be awaited is no limit.
  ASSERT_TRUE(two.CreateFor(30, 10, {"tuningJobs/99"}).ok());
  EXPECT_EQ(one.queue().Get(1)->awaited_jobs(0), "tuningJobs/99");
  // It was done, and is not done again.
  EXPECT_TRUE(Eventually([&] {
    return store_->RenewLeases({"one", kLong})->front().more.empty();
  }));
}

TEST_F(JobClaimsTest, AJobThatNobodyHasIsExtendedAtOnce) {
  FakeDaemon two(*store_, "two");
  {
    FakeDaemon one(*store_, "one", kShort);
    ASSERT_TRUE(one.CreateFor(20, 100).ok());
    one.queue().Drain();
  }
  absl::SleepFor(2 * kShort);
  const Result<v1::CreateTuningJobResponse> twin = two.CreateFor(60, 50);
  ASSERT_TRUE(twin.ok()) << twin.status();
  EXPECT_TRUE(twin->joined());
  EXPECT_TRUE(twin->extended());
  EXPECT_EQ(store_->GetJob(1)->options().budget_ns(), 60'000'000'000);
}

// As one of an earlier version, or one that is cut off.
TEST_F(JobClaimsTest, AnOwnerThatDoesNotHearIsNotWaitedForForever) {
  FakeDaemon one(*store_, "one"), two(*store_, "two", kLong, kShort);
  ASSERT_TRUE(one.CreateFor(20, 100).ok());
  const Result<v1::CreateTuningJobResponse> twin = two.CreateFor(60, 50);
  ASSERT_TRUE(twin.ok()) << twin.status();
  EXPECT_TRUE(twin->joined());
  EXPECT_FALSE(twin->extended());
  EXPECT_THAT(twin->note(), HasSubstr("has not heard yet that 60.0 s or 100 trials is wanted"));
  // Another one wants more of something else; both are heard later.
  EXPECT_FALSE(two.CreateFor(30, 300)->extended());
  EXPECT_EQ(one.queue().Get(1)->options().budget_ns(), 20'000'000'000);
  one.queue().RenewLeases();
  EXPECT_EQ(one.queue().Get(1)->options().budget_ns(), 60'000'000'000);
  EXPECT_EQ(one.queue().Get(1)->options().max_trials(), 300);
}

TEST_F(JobClaimsTest, WhatIsWantedOfAJobOutlivesItsOwner) {
  FakeDaemon two(*store_, "two", kLong, kShort);
  {
    FakeDaemon one(*store_, "one", kShort);
    ASSERT_TRUE(one.CreateFor(20, 100).ok());
    one.queue().RenewLeases();
    ASSERT_TRUE(store_
                    ->WishMoreOfJob(1,
                                    [](v1::TuningJob wanted) {
                                      wanted.mutable_options()->set_budget_ns(60'000'000'000);
                                      return wanted;
                                    })
                    .ok());
    one.queue().Drain();
  }
  absl::SleepFor(2 * kShort);
  two.queue().RenewLeases();
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  EXPECT_EQ(two.queue().Get(1)->options().budget_ns(), 60'000'000'000);
}

// The request is not lost with the job that it should have been for.
TEST_F(JobClaimsTest, OneThatEndsWithoutHavingHeardIsFollowedByAnother) {
  FakeDaemon one(*store_, "one"), two(*store_, "two");
  ASSERT_TRUE(one.CreateFor(20, 100).ok());
  ASSERT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  Result<v1::CreateTuningJobResponse> twin = absl::UnknownError("");
  std::thread asking([&] { twin = two.CreateFor(60, 500); });
  EXPECT_TRUE(Eventually([&] {
    return !store_->RenewLeases({"one", kLong})->front().more.empty();
  }));
  one.tune().Release();
  asking.join();
  ASSERT_TRUE(twin.ok()) << twin.status();
  EXPECT_FALSE(twin->joined());
  EXPECT_EQ(twin->job().name(), "tuningJobs/2");
}

TEST_F(JobClaimsTest, ADaemonThatStopsWaitsForNoOwner) {
  FakeDaemon one(*store_, "one"), two(*store_, "two");
  ASSERT_TRUE(one.CreateFor(20, 100).ok());
  Result<v1::CreateTuningJobResponse> twin = absl::UnknownError("");
  std::thread asking([&] { twin = two.CreateFor(60, 500); });
  EXPECT_TRUE(Eventually([&] {
    return !store_->RenewLeases({"one", kLong})->front().more.empty();
  }));
  two.queue().Drain();
  asking.join();
  ASSERT_TRUE(twin.ok()) << twin.status();
  EXPECT_FALSE(twin->extended());
}

// Has nonsense wanted of all jobs until it is heard.
class StoreWithNonsense final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::vector<HeldJob>> RenewLeases(const JobLease& lease) override {
    Result<std::vector<HeldJob>> held = ForwardingStore::RenewLeases(lease);
    for (HeldJob& job : *held) job.more = heard_ == kNonsense ? "" : kNonsense;
    return held;
  }
  Status HeardMore(const JobClaim&, std::string_view more) override {
    heard_ = more;
    return absl::OkStatus();
  }
  bool is_heard() const { return heard_ == kNonsense; }

 private:
  static constexpr const char* kNonsense = "\xff\xff";
  std::string heard_;
};

TEST_F(JobClaimsTest, NonsenseThatIsWantedIsForgotten) {
  StoreWithNonsense store(*OpenSqliteStore({.path = directory_.File("other.sqlite")}));
  FakeDaemon one(store, "one");
  ASSERT_TRUE(one.CreateFor(20, 100).ok());
  one.queue().RenewLeases();
  EXPECT_TRUE(store.is_heard());
  EXPECT_EQ(one.queue().Get(1)->options().budget_ns(), 20'000'000'000);
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

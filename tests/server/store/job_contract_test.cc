// What every store does with jobs, who has them, and their trials.
#include <set>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "tests/server/store/store_under_test.h"
#include "tests/server/store/stored_samples.h"

namespace mdh::job_contract_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class JobContract : public StoreContract {
 protected:
  int64_t InsertEnded(int64_t second) {
    v1::TuningJob job;
    job.set_state(v1::TUNING_JOB_STATE_SUCCEEDED);
    job.mutable_end_time()->set_seconds(second);
    const JobClaim claim = store_->InsertJob(job)->claim;
    v1::TuningTrial trial;
    trial.set_number(1);
    EXPECT_TRUE(store_->PutTrials(claim, absl::MakeConstSpan(&trial, 1)).ok());
    return claim.number;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, JobContract, ::testing::ValuesIn(Engines()), EngineName);

TEST_P(JobContract, MissingJobsAreNotFound) {
  EXPECT_EQ(store_->GetJob(7).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->UpdateJob({.number = 7}, JobIn(v1::TUNING_JOB_STATE_FAILED)).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->WishOfJob(7, JobWish::kPause).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(store_->FindJobByRequest("r")->has_value());
}

TEST_P(JobContract, JobsAreListedFromTheNewestInPages) {
  for (int number = 1; number <= 5; ++number) {
    EXPECT_EQ(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_SUCCEEDED))->claim.number, number);
  }
  const Result<std::vector<v1::TuningJob>> first = store_->ListJobs(0, 2);
  ASSERT_THAT(*first, SizeIs(2));
  EXPECT_EQ(first->at(0).name(), "tuningJobs/5");
  EXPECT_EQ(first->at(1).name(), "tuningJobs/4");
  const Result<std::vector<v1::TuningJob>> rest = store_->ListJobs(4, 10);
  ASSERT_THAT(*rest, SizeIs(3));
  EXPECT_EQ(rest->at(0).name(), "tuningJobs/3");
}

TEST_P(JobContract, UnfinishedJobsAreThoseQueuedOrRunning) {
  ASSERT_TRUE(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED)).ok());
  ASSERT_TRUE(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_RUNNING)).ok());
  ASSERT_TRUE(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_CANCELLED)).ok());
  EXPECT_THAT(*store_->UnfinishedJobs(), SizeIs(2));
  ASSERT_TRUE(store_->UpdateJob({.number = 1}, JobIn(v1::TUNING_JOB_STATE_FAILED)).ok());
  const Result<std::vector<v1::TuningJob>> left = store_->UnfinishedJobs();
  ASSERT_THAT(*left, SizeIs(1));
  EXPECT_EQ(left->front().name(), "tuningJobs/2");
}

TEST_P(JobContract, ARequestIdBelongsToOneJob) {
  ASSERT_TRUE(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED, "r")).ok());
  EXPECT_EQ(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED, "r")).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ((*store_->FindJobByRequest("r"))->name(), "tuningJobs/1");
}

TEST_P(JobContract, ADamagedJobDoesNotHideTheOthers) {
  InsertEnded(1);
  InsertEnded(2);
  engine_->RunSql("UPDATE jobs SET job = x'ffff' WHERE number = 1");
  EXPECT_THAT(*store_->ListJobs(0, 10), SizeIs(1));
  EXPECT_THAT(*store_->CheckIntegrity(),
              ElementsAre("job 1 cannot be read", "1 is a job whose bytes have changed"));
  EXPECT_EQ(store_->GetJob(1).status().message(),
            "tuningJobs/1 cannot be read: a stored job is damaged");
}

TEST_P(JobContract, OldAndSurplusJobsAreForgottenWithTheirTrials) {
  for (int64_t second = 1; second <= 5; ++second) InsertEnded(second);
  Retention retention = {.jobs_ended_before = absl::FromUnixSeconds(3), .most_ended_jobs = 2};
  retention.only_count = true;
  EXPECT_EQ(store_->Forget(retention)->jobs(), 3);
  EXPECT_THAT(*store_->ListJobs(0, 10), SizeIs(5));
  retention.only_count = false;
  const Result<v1::CollectGarbageResponse> forgotten = store_->Forget(retention);
  EXPECT_EQ(forgotten->jobs(), 3);
  EXPECT_EQ(forgotten->trials(), 3);
  EXPECT_THAT(*store_->ListJobs(0, 10), SizeIs(2));
  EXPECT_THAT(*store_->ListTrials(1, 0, 0), IsEmpty());
  EXPECT_THAT(*store_->ListTrials(5, 0, 0), SizeIs(1));
}

// ---- Owners ----

constexpr absl::Duration kLong = absl::Hours(1);
constexpr absl::Duration kShort = absl::Milliseconds(20);

v1::TuningJob JobFor(const std::string& fingerprint, const std::string& device = "",
                     int priority = 0) {
  v1::TuningJob job = JobIn(v1::TUNING_JOB_STATE_QUEUED);
  job.mutable_key()->set_device_fingerprint(fingerprint);
  if (!device.empty()) job.add_devices(device);
  job.set_priority(priority);
  return job;
}

// Of jobs, in their order.
std::vector<int64_t> NumbersOf(const Result<std::vector<ClaimedJob>>& jobs) {
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  std::vector<int64_t> numbers;
  for (const ClaimedJob& job : *jobs) numbers.push_back(job.claim.number);
  return numbers;
}

TEST_P(JobContract, JobsAreClaimedByFingerprintAndDevice) {
  ASSERT_EQ(store_->InsertJob(JobFor("gpu", "devices/cuda0"), {"one", kLong})->claim,
            (JobClaim{1, 1}));
  ASSERT_EQ(store_->InsertJob(JobFor("gpu", "devices/cuda0"))->claim, (JobClaim{2, 0}));
  ASSERT_TRUE(store_->InsertJob(JobFor("cpu", "devices/cpu")).ok());
  ASSERT_TRUE(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_SUCCEEDED)).ok());
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"two", kLong}, {})), IsEmpty());
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"two", kLong}, {.fingerprints = {"tpu"}})), IsEmpty());
  // The first is another's.
  const auto claimed = store_->ClaimJobs({"two", kLong}, {.fingerprints = {"tpu", "gpu"}});
  ASSERT_THAT(NumbersOf(claimed), ElementsAre(2));
  EXPECT_EQ(claimed->front().claim.epoch, 1);
  EXPECT_EQ(claimed->front().job.name(), "tuningJobs/2");
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"three", kLong}, {.devices = {"devices/cpu"}})),
              ElementsAre(3));
  // Whatever it is for, but not while it is another's.
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"two", kLong}, {.number = 1})), IsEmpty());
}

TEST_P(JobContract, TheUrgentAndTheOldestAreClaimedFirst) {
  for (const int priority : {0, 0, 2, 1, 2}) {
    ASSERT_TRUE(store_->InsertJob(JobFor("gpu", "", priority)).ok());
  }
  const ClaimRequest two = {.fingerprints = {"gpu"}, .limit = 2};
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"one", kLong}, two)), ElementsAre(3, 5));
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"two", kLong}, two)), ElementsAre(4, 1));
  // One's own come first, when it begins anew.
  EXPECT_THAT(
      NumbersOf(store_->ClaimJobs({"one", kLong}, {.fingerprints = {"gpu"}, .takes_own = true})),
      ElementsAre(3, 5, 2));
}

TEST_P(JobContract, AnOwnerThatIsNotHeardOfIsReplacedAndRefused) {
  const JobClaim first = store_->InsertJob(JobFor("gpu"), {"one", kShort})->claim;
  absl::SleepFor(3 * kShort);
  // Nobody has taken it yet.
  EXPECT_TRUE(store_->UpdateJob(first, JobFor("gpu")).ok());
  const auto taken = store_->ClaimJobs({"two", kLong}, {.fingerprints = {"gpu"}});
  ASSERT_THAT(NumbersOf(taken), ElementsAre(1));
  const JobClaim second = taken->front().claim;
  EXPECT_EQ(second, (JobClaim{1, 2}));
  const v1::TuningJob failed = JobIn(v1::TUNING_JOB_STATE_FAILED);
  EXPECT_EQ(store_->UpdateJob(first, failed).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(*store_->RenewLeases({"one", kLong}), IsEmpty());
  EXPECT_EQ(store_->GetJob(1)->state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_TRUE(store_->UpdateJob(second, failed).ok());
  EXPECT_THAT(*store_->RenewLeases({"two", kLong}), IsEmpty());
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"one", kLong}, {.fingerprints = {"gpu"}})), IsEmpty());
}

TEST_P(JobContract, ALeaseIsKeptByRenewingIt) {
  ASSERT_TRUE(store_->InsertJob(JobFor("gpu"), {"one", kShort}).ok());
  ASSERT_TRUE(store_->InsertJob(JobFor("gpu"), {"two", kShort}).ok());
  ASSERT_THAT(*store_->RenewLeases({"one", kLong}), SizeIs(1));
  absl::SleepFor(3 * kShort);
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"three", kLong}, {.fingerprints = {"gpu"}})),
              ElementsAre(2));
  EXPECT_THAT(*store_->RenewLeases({"", kLong}), IsEmpty());
}

// Also of two processes with one name.
TEST_P(JobContract, WhoeverBeginsAnewFencesItsEarlierSelf) {
  const JobClaim first = store_->InsertJob(JobFor("gpu"), {"one", kLong})->claim;
  Open();
  const auto again = store_->ClaimJobs({"one", kLong}, {.takes_own = true});
  ASSERT_THAT(NumbersOf(again), ElementsAre(1));
  EXPECT_EQ(store_->UpdateJob(first, JobFor("gpu")).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_->RenewLeases({"one", kLong})->front().claim, again->front().claim);
  // Once it has begun it takes only others'.
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"one", kLong}, {.fingerprints = {"gpu"}})), IsEmpty());
}

TEST_P(JobContract, WhoTakesAJobForNoTimeLeavesItToTheNext) {
  ASSERT_TRUE(store_->InsertJob(JobFor("gpu")).ok());
  const auto mine = store_->ClaimJobs({}, {.number = 1});
  ASSERT_THAT(NumbersOf(mine), ElementsAre(1));
  EXPECT_TRUE(store_->UpdateJob(mine->front().claim, JobFor("gpu")).ok());
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"two", kLong}, {.fingerprints = {"gpu"}})),
              ElementsAre(1));
  EXPECT_EQ(store_->UpdateJob(mine->front().claim, JobFor("gpu")).code(),
            absl::StatusCode::kAborted);
}

TEST_P(JobContract, ManyWhoClaimGetEachJobOnce) {
  constexpr int kJobs = 24;
  for (int n = 0; n < kJobs; ++n) ASSERT_TRUE(store_->InsertJob(JobFor("gpu")).ok());
  absl::Mutex mutex;
  std::vector<int64_t> all;
  std::vector<std::thread> threads;
  for (const char* owner : {"one", "two", "three", "four"}) {
    threads.emplace_back([&, owner] {
      while (true) {
        const auto claimed =
            store_->ClaimJobs({owner, kLong}, {.fingerprints = {"gpu"}, .limit = 1});
        ASSERT_TRUE(claimed.ok()) << claimed.status();
        if (claimed->empty()) return;
        absl::MutexLock lock(&mutex);
        all.push_back(claimed->front().claim.number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(all, SizeIs(kJobs));
  EXPECT_THAT(std::set<int64_t>(all.begin(), all.end()), SizeIs(kJobs));
}

TEST_P(JobContract, TheOwnerHearsWhatIsWanted) {
  const JobClaim claim = store_->InsertJob(JobFor("gpu"), {"one", kShort})->claim;
  const auto heard = [&] { return store_->RenewLeases({"one", kShort})->front().wish; };
  EXPECT_EQ(heard(), JobWish::kNone);
  EXPECT_EQ(store_->WishOfJob(1, JobWish::kPause)->state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_EQ(heard(), JobWish::kPause);
  EXPECT_EQ(heard(), JobWish::kPause) << "until it is done";
  // What was heard may be wanted no more.
  ASSERT_TRUE(store_->WishOfJob(1, JobWish::kResume).ok());
  ASSERT_TRUE(store_->UpdateJob(claim, JobFor("gpu"), JobWish::kPause).ok());
  EXPECT_EQ(heard(), JobWish::kResume);
  ASSERT_TRUE(store_->UpdateJob(claim, JobFor("gpu"), JobWish::kResume).ok());
  EXPECT_EQ(heard(), JobWish::kNone);
  // Nothing comes after a cancellation, and it outlives who should have heard of it.
  ASSERT_TRUE(store_->WishOfJob(1, JobWish::kCancel).ok());
  EXPECT_TRUE(store_->WishOfJob(1, JobWish::kCancel).ok());
  EXPECT_EQ(store_->WishOfJob(1, JobWish::kResume).status().code(),
            absl::StatusCode::kFailedPrecondition);
  absl::SleepFor(3 * kShort);
  const auto taken = store_->ClaimJobs({"two", kLong}, {.fingerprints = {"gpu"}});
  ASSERT_THAT(NumbersOf(taken), ElementsAre(1));
  EXPECT_EQ(taken->front().wish, JobWish::kCancel);
  ASSERT_TRUE(store_->UpdateJob(taken->front().claim, JobIn(v1::TUNING_JOB_STATE_CANCELLED)).ok());
  EXPECT_EQ(store_->WishOfJob(1, JobWish::kCancel).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_P(JobContract, TheOwnerHearsHowMuchMoreIsWanted) {
  const JobClaim claim = store_->InsertJob(JobFor("gpu"), {"one", kShort})->claim;
  const auto heard = [&] { return store_->RenewLeases({"one", kShort})->front().more; };
  const auto await = [&](const std::string& name) {
    return store_->WishMoreOfJob(1, [&](v1::TuningJob wanted) {
      wanted.add_awaited_jobs(name);
      return wanted;
    });
  };
  const auto awaited = [](const std::string& more) {
    v1::TuningJob wanted;
    EXPECT_TRUE(wanted.ParseFromString(more));
    return std::vector<std::string>(wanted.awaited_jobs().begin(), wanted.awaited_jobs().end());
  };
  EXPECT_EQ(await("a").status(), absl::OkStatus());
  EXPECT_EQ(store_->WishMoreOfJob(7, [](v1::TuningJob wanted) { return wanted; }).status().code(),
            absl::StatusCode::kNotFound);
  const std::string first = heard();
  EXPECT_THAT(awaited(first), ElementsAre("a"));
  EXPECT_EQ(heard(), first) << "until it is done";
  // It says nothing of what else is wanted, and that nothing of this.
  ASSERT_TRUE(store_->WishOfJob(1, JobWish::kPause).ok());
  ASSERT_TRUE(store_->UpdateJob(claim, JobFor("gpu"), JobWish::kPause).ok());
  EXPECT_EQ(heard(), first);
  // What is wanted by now is not what was done.
  ASSERT_TRUE(await("b").ok());
  ASSERT_TRUE(store_->HeardMore(claim, first).ok());
  const std::string both = heard();
  EXPECT_THAT(awaited(both), ElementsAre("a", "b"));
  ASSERT_TRUE(store_->HeardMore({claim.number, claim.epoch + 1}, both).ok());
  EXPECT_EQ(heard(), both) << "another's word";
  ASSERT_TRUE(store_->HeardMore(claim, both).ok());
  EXPECT_EQ(heard(), "");
  // It outlives who should have heard of it.
  ASSERT_TRUE(await("c").ok());
  absl::SleepFor(3 * kShort);
  const auto taken = store_->ClaimJobs({"two", kLong}, {.fingerprints = {"gpu"}});
  ASSERT_THAT(NumbersOf(taken), ElementsAre(1));
  EXPECT_THAT(awaited(taken->front().more), ElementsAre("c"));
  // What cannot be read is not wanted any more.
  engine_->RunSql("UPDATE jobs SET wanted_more = x'ffff' WHERE number = 1");
  ASSERT_TRUE(await("d").ok());
  EXPECT_THAT(awaited(store_->RenewLeases({"two", kLong})->front().more), ElementsAre("d"));
  ASSERT_TRUE(store_->UpdateJob(taken->front().claim, JobIn(v1::TUNING_JOB_STATE_SUCCEEDED)).ok());
  EXPECT_EQ(await("e").status().code(), absl::StatusCode::kFailedPrecondition);
}

// ---- Twins ----

TEST_P(JobContract, OneKeyIsSearchedForByOneJob) {
  const InsertedJob first = *store_->InsertJob(JobFor("gpu"), {"one", kLong}, "a");
  EXPECT_FALSE(first.is_twin);
  const InsertedJob twin = *store_->InsertJob(JobFor("gpu"), {"two", kLong}, "a");
  EXPECT_TRUE(twin.is_twin);
  EXPECT_EQ(twin.claim, first.claim);
  EXPECT_EQ(store_->InsertJob(JobFor("gpu"), {"two", kLong}, "b")->claim.number, 2);
  EXPECT_EQ(store_->InsertJob(JobFor("gpu"), {"two", kLong})->claim.number, 3);
  // One that takes another's key has none from then on.
  ASSERT_TRUE(store_->UpdateJob({2, 1}, JobFor("gpu"), JobWish::kNone, "a").ok());
  EXPECT_EQ(store_->InsertJob(JobFor("gpu"), {}, "a")->claim.number, 1);
  EXPECT_EQ(store_->InsertJob(JobFor("gpu"), {}, "b")->claim.number, 4);
  // It can be searched for anew when it has ended.
  ASSERT_TRUE(store_->UpdateJob({1, 1}, JobIn(v1::TUNING_JOB_STATE_SUCCEEDED)).ok());
  ASSERT_TRUE(store_->UpdateJob({2, 1}, JobFor("gpu"), JobWish::kNone, "a").ok());
  EXPECT_EQ(store_->InsertJob(JobFor("gpu"), {}, "a")->claim.number, 2);
}

TEST_P(JobContract, TheRequestIsLookedAtBeforeTwins) {
  ASSERT_TRUE(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED, "r"), {}, "a").ok());
  EXPECT_EQ(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED, "r"), {}, "a").status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED, "s"), {}, "a")->is_twin);
}

TEST_P(JobContract, ADamagedJobIsNobodysTwin) {
  ASSERT_TRUE(store_->InsertJob(JobFor("gpu"), {}, "a").ok());
  engine_->RunSql("UPDATE jobs SET job = x'ffff' WHERE number = 1");
  EXPECT_EQ(store_->InsertJob(JobFor("gpu"), {}, "a")->claim.number, 2);
  EXPECT_EQ(store_->InsertJob(JobFor("gpu"), {}, "a")->claim.number, 2);
  EXPECT_THAT(NumbersOf(store_->ClaimJobs({"one", kLong}, {.fingerprints = {"gpu"}})),
              ElementsAre(2));
}

// ---- Trials ----

TEST_P(JobContract, TrialsOfOwnersStayBesideEachOther) {
  ASSERT_TRUE(store_->InsertJob(JobFor("gpu")).ok());
  const auto put = [&](int64_t epoch, int64_t number, const std::string& reason) {
    v1::TuningTrial trial;
    trial.set_number(number);
    trial.set_reason(reason);
    EXPECT_TRUE(store_->PutTrials({1, epoch}, absl::MakeConstSpan(&trial, 1)).ok());
  };
  const auto reasons = [&](int64_t after, int limit) {
    std::vector<std::string> all;
    const auto trials = store_->ListTrials(1, after, limit);
    for (const v1::TuningTrial& trial : *trials) all.push_back(trial.reason());
    return all;
  };
  put(1, 1, "one");
  put(1, 2, "begun");
  put(1, 2, "ended");
  put(2, 3, "the next owner's");
  put(1, 3, "of whom nobody had heard");
  put(2, 4, "four");
  EXPECT_THAT(reasons(0, 0),
              ElementsAre("one", "ended", "of whom nobody had heard", "the next owner's", "four"));
  EXPECT_THAT(reasons(0, 2), ElementsAre("one", "ended"));
  EXPECT_THAT(reasons(2, 1), ElementsAre("of whom nobody had heard", "the next owner's"));
  EXPECT_THAT(reasons(3, 1), ElementsAre("four"));
}
}  // namespace
}  // namespace mdh::job_contract_test

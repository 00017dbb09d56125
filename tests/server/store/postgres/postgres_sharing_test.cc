// Several stores on one PostgreSQL database, as several daemons have them.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/change_cursor.h"
#include "tests/server/eventually.h"
#include "tests/server/store/postgres_test.h"

namespace mdh::postgres_sharing_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What a listener is told.
class Heard {
 public:
  Store::OnChange Listener() {
    return [this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      absl::MutexLock lock(&mutex_);
      all_.push_back(absl::StrCat(static_cast<int>(kind), record.name(), "=", record.time_ns()));
      if (kind == v1::KERNEL_CHANGE_KIND_REMOVED) {
        records_.erase(record.name());
      } else {
        records_[record.name()] = record.time_ns();
      }
    };
  }
  std::vector<std::string> all() const {
    absl::MutexLock lock(&mutex_);
    return all_;
  }
  std::map<std::string, int64_t> records() const {
    absl::MutexLock lock(&mutex_);
    return records_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::string> all_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> records_ ABSL_GUARDED_BY(mutex_);
};

class PostgresSharingTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (address_.empty()) return;
    one_ = Open();
    other_ = Open();
    ASSERT_TRUE(one_ != nullptr && other_ != nullptr);
  }
  static Status Put(Store& store, const std::string& id, int64_t time_ns) {
    const StoredResult result = SampleResult(id, time_ns);
    return store.PutResult(result.record, result.kernel).status();
  }
  static v1::TuningJob Waiting(const std::string& fingerprint, int priority = 0) {
    v1::TuningJob job;
    job.set_state(v1::TUNING_JOB_STATE_QUEUED);
    job.mutable_key()->set_device_fingerprint(fingerprint);
    job.set_priority(priority);
    return job;
  }

  std::unique_ptr<Store> one_;
  std::unique_ptr<Store> other_;
};

TEST_F(PostgresSharingTest, TheListenersOfAllHearOfAllChangesInTheirOrder) {
  Heard here;
  Heard there;
  one_->SetListener(here.Listener());
  other_->SetListener(there.Listener());
  ASSERT_TRUE(Put(*one_, "a", 100).ok());
  EXPECT_THAT(here.all(), ElementsAre("1records/a=100"));  // when the call returns
  ASSERT_TRUE(Put(*other_, "a", 90).ok());
  ASSERT_TRUE(Put(*one_, "a", 95).ok());  // worse than what the other one has stored
  ASSERT_TRUE(other_->SetPinning("a", Pinning::kPinned).ok());
  EXPECT_EQ(one_->RemoveResult("a").status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(other_->SetPinning("a", Pinning::kNotPinned).ok());
  // Of a record that is removed before it was read only that is heard.
  ASSERT_TRUE(one_->WaitForChange(3, absl::Seconds(5)));
  ASSERT_TRUE(one_->RemoveResult("a").ok());
  ASSERT_TRUE(other_->WaitForChange(4, absl::Seconds(5)));
  EXPECT_EQ(one_->LatestChange(), 5);
  EXPECT_THAT(here.records(), IsEmpty());
  EXPECT_THAT(there.records(), IsEmpty());
  EXPECT_THAT(here.all(), SizeIs(5));
  EXPECT_EQ(here.all().back(), "2records/a=90");
}

TEST_F(PostgresSharingTest, WhatIsStoredWhileRecordsAreReadIsHeardOfLater) {
  for (const char* id : {"a", "b"}) ASSERT_TRUE(Put(*other_, id, 100).ok());
  ASSERT_TRUE(one_->WaitForChange(1, absl::Seconds(5)));
  int read = 0;
  ASSERT_TRUE(one_->ForEachRecord({}, [&](std::string_view) { ++read; }).ok());
  EXPECT_EQ(read, 2);
  // Between that and the listener.
  ASSERT_TRUE(Put(*other_, "c", 100).ok());
  ASSERT_TRUE(one_->WaitForChange(2, absl::Seconds(5)));
  Heard heard;
  one_->SetListener(heard.Listener());
  EXPECT_THAT(heard.all(), ElementsAre("1records/c=100"));
}

// Who serves some devices does not read what is stored for others, and misses no change all the
// same.
TEST_F(PostgresSharingTest, AListenerForSomeDevicesIsToldOfTheirRecordsOnly) {
  const auto put = [&](const std::string& id, const std::string& device) {
    StoredResult result = SampleResult(id, 100);
    result.record.mutable_key()->set_device_fingerprint(device);
    return other_->PutResult(result.record, result.kernel).status();
  };
  ASSERT_TRUE(one_->ForEachRecord({"cpu 'A'", "cpu B"}, [](std::string_view) {}).ok());
  Heard heard;
  one_->SetListener(heard.Listener());
  ASSERT_TRUE(put("a", "cpu 'A'").ok());
  ASSERT_TRUE(put("c", "cpu C").ok());
  ASSERT_TRUE(put("b", "cpu B").ok());
  ASSERT_TRUE(one_->WaitForChange(2, absl::Seconds(5)));
  EXPECT_THAT(heard.all(), ElementsAre("1records/a=100", "1records/b=100"));
  // What an earlier version wrote does not say its device.
  RunSql("UPDATE mdhd.records SET device_fingerprint = NULL");
  ASSERT_TRUE(other_->SetPinning("c", Pinning::kPinned).ok());
  ASSERT_TRUE(one_->WaitForChange(3, absl::Seconds(5)));
  EXPECT_THAT(heard.all(), SizeIs(3));
  EXPECT_EQ(heard.all().back(), "3records/c=100");
  // Also after a reconnection, to a schema that does not say it of any.
  RunSql("ALTER TABLE mdhd.records DROP COLUMN device_fingerprint");
  RunSql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
      " AND datname = current_database()");
  EXPECT_TRUE(Eventually([&] { return other_->SetPinning("c", Pinning::kNotPinned).ok(); }));
  EXPECT_TRUE(Eventually([&] { return heard.all().back() == "4records/c=100"; }));
}

// What one has written another one knows of when it has waited for that.
TEST_F(PostgresSharingTest, WhatOneHasWrittenIsSeenWhereItIsAskedFor) {
  EXPECT_EQ(one_->SharedChange(), 0);
  for (int n = 1; n <= 20; ++n) {
    ASSERT_TRUE(Put(*one_, absl::StrCat(n), 100).ok());
    EXPECT_EQ(one_->SharedChange(), n);
    EXPECT_EQ(SharedCursor(*one_), absl::StrCat(other_->incarnation(), ".", n));
    EXPECT_TRUE(other_->WaitForChange(n - 1, absl::Seconds(5)));
    EXPECT_EQ(other_->SharedChange(), n);
  }
}

TEST_F(PostgresSharingTest, ARecordIsVisibleElsewhereInMilliseconds) {
  std::vector<absl::Duration> waits;
  for (int n = 1; n <= 50; ++n) {
    const absl::Time before = absl::Now();
    ASSERT_TRUE(Put(*one_, absl::StrCat(n), 100).ok());
    ASSERT_TRUE(other_->WaitForChange(n - 1, absl::Seconds(5)));
    waits.push_back(absl::Now() - before);
  }
  std::sort(waits.begin(), waits.end());
  RecordProperty("median_us", static_cast<int>(absl::ToInt64Microseconds(waits[25])));
  // Without notifications it would be half a second.
  EXPECT_LT(waits[25], absl::Milliseconds(100));
}

TEST_F(PostgresSharingTest, ChangesOfManyWritersHaveNumbersWithoutGaps) {
  constexpr int kWriters = 8;
  constexpr int kPuts = 40;
  Heard heard;
  other_->SetListener(heard.Listener());
  std::vector<std::unique_ptr<Store>> stores;
  for (int n = 0; n < kWriters; ++n) stores.push_back(Open());
  std::vector<std::thread> writers;
  for (int n = 0; n < kWriters; ++n) {
    writers.emplace_back([&, n] {
      for (int put = 0; put < kPuts; ++put) {
        // Records of all of them, each better than before, and one in ten is removed.
        const std::string id = absl::StrCat((n + put) % 16);
        EXPECT_TRUE(Put(*stores[n], id, 1'000'000 - put * kWriters - n).ok());
        if (put % 10 == 9) stores[n]->RemoveResult(id).IgnoreError();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const int64_t latest = Number("SELECT last_change FROM mdhd.store");
  EXPECT_EQ(Number("SELECT count(*) FROM mdhd.changes"), latest);
  ASSERT_TRUE(other_->WaitForChange(latest - 1, absl::Seconds(10)));
  std::map<std::string, int64_t> stored;
  const Result<std::vector<v1::TuningRecord>> records = one_->AllRecords();
  ASSERT_TRUE(records.ok()) << records.status();
  for (const v1::TuningRecord& record : *records) {
    stored[record.name()] = record.time_ns();
  }
  EXPECT_EQ(heard.records(), stored);
  EXPECT_THAT(*one_->CheckIntegrity(), IsEmpty());
  const auto changes = other_->ChangesAfter(0, 10'000);
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_THAT(*changes, SizeIs(latest));
}

TEST_F(PostgresSharingTest, ManyResultsAtOnceFromSeveralSidesDoNotMeet) {
  std::vector<std::thread> writers;
  for (Store* store : {one_.get(), other_.get()}) {
    writers.emplace_back([store, this] {
      for (int round = 0; round < 5; ++round) {
        std::vector<StoredResult> results;
        // In opposite orders, which locks of rows would not survive.
        for (int n = 0; n < 50; ++n) {
          results.push_back(
              SampleResult(absl::StrCat(store == one_.get() ? n : 49 - n), 100 - round));
        }
        EXPECT_TRUE(store->PutResults(results).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(*one_->AllRecords(), SizeIs(50));
}

TEST_F(PostgresSharingTest, NoJobIsClaimedTwice) {
  constexpr int kJobs = 120;
  for (int n = 0; n < kJobs; ++n) {
    ASSERT_TRUE(one_->InsertJob(Waiting("gpu", n % 3)).ok());
  }
  absl::Mutex mutex;
  std::multiset<int64_t> claimed;
  std::vector<std::thread> workers;
  for (int n = 0; n < 8; ++n) {
    workers.emplace_back([&, n] {
      Store& store = n % 2 == 0 ? *one_ : *other_;
      const JobLease lease = {absl::StrCat("worker", n), absl::Seconds(45)};
      while (true) {
        const auto jobs = store.ClaimJobs(lease, {.fingerprints = {"gpu"}, .limit = 1});
        ASSERT_TRUE(jobs.ok()) << jobs.status();
        if (jobs->empty()) break;
        absl::MutexLock lock(&mutex);
        claimed.insert(jobs->front().claim.number);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  // One that another claimed at that moment is skipped, and is not lost.
  const auto rest = one_->ClaimJobs({"last", absl::Seconds(45)}, {.fingerprints = {"gpu"}});
  ASSERT_TRUE(rest.ok()) << rest.status();
  for (const ClaimedJob& job : *rest) claimed.insert(job.claim.number);
  EXPECT_THAT(claimed, SizeIs(kJobs));
  EXPECT_EQ(std::set<int64_t>(claimed.begin(), claimed.end()).size(), kJobs);
}

TEST_F(PostgresSharingTest, WhoWasTakenForDeadIsFenced) {
  ASSERT_TRUE(one_->InsertJob(Waiting("gpu")).ok());
  const ClaimRequest request = {.fingerprints = {"gpu"}};
  const auto first = one_->ClaimJobs({"one", absl::Seconds(45)}, request);
  ASSERT_THAT(*first, SizeIs(1));
  EXPECT_THAT(*other_->ClaimJobs({"other", absl::Seconds(45)}, request), IsEmpty());
  ASSERT_THAT(*one_->RenewLeases({"one", absl::Milliseconds(50)}), SizeIs(1));
  absl::SleepFor(absl::Milliseconds(80));
  const auto second = other_->ClaimJobs({"other", absl::Seconds(45)}, request);
  ASSERT_THAT(*second, SizeIs(1));
  EXPECT_GT(second->front().claim.epoch, first->front().claim.epoch);
  v1::TuningJob ended = first->front().job;
  ended.set_state(v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(one_->UpdateJob(first->front().claim, ended).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(*one_->RenewLeases({"one", absl::Seconds(45)}), IsEmpty());
  EXPECT_TRUE(other_->UpdateJob(second->front().claim, ended).ok());
  EXPECT_THAT(*other_->UnfinishedJobs(), IsEmpty());
}

TEST_F(PostgresSharingTest, AnOwnerHearsAtOnceThatOthersWantSomething) {
  absl::Mutex mutex;
  int heard = 0;
  one_->SetOnWish("one", [&] {
    absl::MutexLock lock(&mutex);
    ++heard;
  });
  const auto heard_so_often = [&](int count) {
    absl::MutexLock lock(&mutex);
    const auto is_so = [&] { return heard >= count; };
    return mutex.AwaitWithTimeout(absl::Condition(&is_so), kLongWait);
  };
  const auto job = one_->InsertJob(Waiting("gpu"), {"one", absl::Seconds(45)});
  const auto of_another = one_->InsertJob(Waiting("gpu"), {"another", absl::Seconds(45)});
  ASSERT_TRUE(job.ok() && of_another.ok());
  ASSERT_TRUE(other_->WishOfJob(of_another->claim.number, JobWish::kCancel).ok());
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(other_->WishOfJob(job->claim.number, JobWish::kPause).ok());
  EXPECT_TRUE(heard_so_often(1));
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(900));  // a second is when it looks anyway
  EXPECT_EQ(heard, 1);
  const auto held = one_->RenewLeases({"one", absl::Seconds(45)});
  ASSERT_THAT(*held, SizeIs(1));
  EXPECT_EQ(held->front().wish, JobWish::kPause);
  // What was said while its connection was broken is not lost.
  RunSql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%mdhd.changes%'"
      " AND pid <> pg_backend_pid()");
  EXPECT_TRUE(heard_so_often(2));
  one_->SetOnWish("", {});
  ASSERT_TRUE(other_->WishOfJob(job->claim.number, JobWish::kCancel).ok());
  EXPECT_EQ(heard, 2);
}

TEST_F(PostgresSharingTest, WhoWantsJobsHearsOfThoseThatNobodyHas) {
  std::atomic<int> heard = 0;
  one_->SetOnNewJobs([&] { ++heard; });
  ASSERT_TRUE(other_->InsertJob(Waiting("gpu"), {"other", absl::Seconds(45)}).ok());
  const auto free = other_->InsertJob(Waiting("gpu"), {}, "a key");
  ASSERT_TRUE(free.ok());
  EXPECT_TRUE(Eventually([&] { return heard == 1; }));
  ASSERT_TRUE(other_->InsertJob(Waiting("gpu"), {}, "a key")->is_twin);
  // Who has taken one and gives it away again says so.
  const int64_t number = free->claim.number;
  ASSERT_THAT(*other_->ClaimJobs({"other"}, {.number = number}), SizeIs(1));
  ASSERT_THAT(*other_->ClaimJobs({}, {.number = number}), SizeIs(1));
  EXPECT_TRUE(Eventually([&] { return heard == 2; }));
  // What was said while its connection was broken is not lost.
  RunSql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%mdhd.changes%'"
      " AND pid <> pg_backend_pid()");
  EXPECT_TRUE(Eventually([&] { return heard >= 3; }));
  one_->SetOnNewJobs({});
  const int before = heard;
  ASSERT_TRUE(other_->InsertJob(Waiting("gpu")).ok());
  ASSERT_TRUE(Put(*one_, "a", 100).ok());  // which it hears of after that
  EXPECT_EQ(heard, before);
}

TEST_F(PostgresSharingTest, TwinsOfSeveralDaemonsAreOneJob) {
  std::atomic<int> inserted = 0;
  std::vector<std::thread> daemons;
  for (int n = 0; n < 8; ++n) {
    daemons.emplace_back([&, n] {
      Store& store = n % 2 == 0 ? *one_ : *other_;
      const auto job = store.InsertJob(Waiting("gpu"), {}, "key");
      ASSERT_TRUE(job.ok()) << job.status();
      if (!job->is_twin) ++inserted;
    });
  }
  for (std::thread& daemon : daemons) daemon.join();
  EXPECT_EQ(inserted, 1);
  EXPECT_THAT(*one_->UnfinishedJobs(), SizeIs(1));
}

TEST_F(PostgresSharingTest, StudiesAreWrittenByOneAtATime) {
  const auto here = *one_->OpenStudies();
  const auto there = *other_->OpenStudies();
  v1::Study study;
  study.set_state(v1::STUDY_STATE_ACTIVE);
  const int64_t number = *here->InsertStudy(study);
  EXPECT_EQ(there->GetStudy(number)->version, 1);
  EXPECT_EQ(*there->PutTrials(number, 1, study, {}), 2);
  EXPECT_EQ(here->PutTrials(number, 1, study, {}).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(here->AllTrials(number, 1).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(*here->PutTrials(number, 2, study, {}), 3);
}

TEST_F(PostgresSharingTest, JobsSayWhoseTheyAre) {
  v1::TuningJob job;
  job.set_state(v1::TUNING_JOB_STATE_QUEUED);
  job.set_request_id("r");
  ASSERT_TRUE(one_->InsertJob(job, {}).ok());
  EXPECT_EQ(other_->GetJob(1)->node(), "");
  ASSERT_TRUE(one_->ClaimJobs({"host unix:/run", absl::Hours(1)}, {.number = 1}).ok());
  EXPECT_EQ(other_->GetJob(1)->node(), "nodes/host-unix-run");
  EXPECT_EQ(other_->ListJobs(0, 10, {})->front().node(), "nodes/host-unix-run");
  EXPECT_EQ(other_->UnfinishedJobs()->front().node(), "nodes/host-unix-run");
  EXPECT_EQ((*other_->FindJobByRequest("r"))->node(), "nodes/host-unix-run");
}

}  // namespace
}  // namespace mdh::postgres_sharing_test

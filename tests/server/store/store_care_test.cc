// What the store does besides storing: keeps, announces, sets aside, forgets; writes of many at
// once.
#include <filesystem>
#include <fstream>
#include <thread>

#include "codegen/program/kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite_results.h"
#include "server/store/sqlite_store.h"
#include "server/store/sqlite_writer.h"
#include "tests/server/run_sql.h"
#include "tests/server/temporary_directory.h"

namespace mdh::store_care_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

StoredResult ResultOfVersion(const std::string& id, int64_t time_ns, int generator_version = 1) {
  StoredResult result;
  result.record.set_name(RecordName(absl::StrCat(id, ".", generator_version)));
  result.record.mutable_key()->set_expression_digest(id);
  result.record.mutable_key()->set_generator_version(generator_version);
  result.record.set_time_ns(time_ns);
  result.kernel.set_source(absl::StrCat("of ", time_ns));
  return result;
}

StoredResult Provisional(const std::string& id, int64_t time_ns) {
  StoredResult result = ResultOfVersion(id, time_ns);
  result.record.set_is_provisional(true);
  return result;
}

class StoreCareTest : public ::testing::Test {
 protected:
  StoreCareTest() { Open(); }
  void Open() {
    store_.reset();
    store_ = *OpenSqliteStore({.path = path_});
  }
  // Gives the time that is stored now.
  int64_t Put(const StoredResult& result) {
    const Result<v1::TuningRecord> stored = store_->PutResult(result.record, result.kernel);
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored.ok() ? stored->time_ns() : 0;
  }
  int64_t InsertEnded(int64_t second) {
    v1::TuningJob job;
    job.set_state(v1::TUNING_JOB_STATE_SUCCEEDED);
    job.mutable_end_time()->set_seconds(second);
    const int64_t number = *store_->InsertJob(job);
    v1::TuningTrial trial;
    trial.set_number(1);
    EXPECT_TRUE(store_->PutTrials(number, absl::MakeConstSpan(&trial, 1)).ok());
    return number;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
  std::unique_ptr<Store> store_;
};

TEST_F(StoreCareTest, AProvisionalResultGivesWayToAFinalOneWhateverTheTimes) {
  EXPECT_EQ(Put(Provisional("a", 100)), 100);
  EXPECT_EQ(Put(Provisional("a", 110)), 100);
  EXPECT_EQ(Put(Provisional("a", 90)), 90);
  EXPECT_EQ(Put(ResultOfVersion("a", 95)), 95);
  EXPECT_EQ(store_->GetKernel("a.1")->source(), "of 95");
  EXPECT_EQ(Put(Provisional("a", 50)), 95);
  EXPECT_EQ(Put(ResultOfVersion("a", 80)), 80);
}

TEST_F(StoreCareTest, PinsSurviveRestartsAndProvisionalResultsHaveNone) {
  Put(ResultOfVersion("a", 100));
  EXPECT_TRUE(store_->SetPinning("a.1", Pinning::kPinned)->is_pinned());
  Open();
  EXPECT_TRUE(store_->AllRecords()->front().is_pinned());
  EXPECT_EQ(Put(ResultOfVersion("a", 50)), 100);
  EXPECT_EQ(store_->RemoveResult("a.1").status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(store_->SetPinning("a.1", Pinning::kNotPinned).ok());
  EXPECT_EQ(store_->RemoveResult("a.1")->time_ns(), 100);
  EXPECT_EQ(store_->RemoveResult("a.1").status().code(), absl::StatusCode::kNotFound);
  Put(Provisional("b", 100));
  EXPECT_EQ(store_->SetPinning("b.1", Pinning::kPinned).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(StoreCareTest, CertificatesAreReplacedAlone) {
  Put(ResultOfVersion("a", 100));
  ASSERT_TRUE(store_->SetPinning("a.1", Pinning::kPinned).ok());
  v1::Certificate certificate;
  certificate.set_problem_bound_ns(7);
  EXPECT_TRUE(store_->SetCertificate("a.1", certificate)->is_pinned());
  const int64_t changes = store_->LatestChange();
  ASSERT_TRUE(store_->SetCertificate("a.1", certificate).ok());  // changes nothing
  EXPECT_EQ(store_->LatestChange(), changes);
  Open();
  const v1::TuningRecord record = *store_->GetRecord("a.1");
  EXPECT_EQ(record.certificate().problem_bound_ns(), 7);
  EXPECT_EQ(record.time_ns(), 100);
  EXPECT_TRUE(record.is_pinned());
  EXPECT_EQ(store_->SetCertificate("b.1", certificate).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StoreCareTest, ManyResultsAreStoredTogetherOrNotAtAll) {
  StoredResult nameless = ResultOfVersion("b", 1);
  nameless.record.set_name("nonsense");
  EXPECT_FALSE(store_->PutResults({ResultOfVersion("a", 1), nameless}).ok());
  EXPECT_THAT(*store_->AllRecords(), IsEmpty());
  EXPECT_EQ(store_->LatestChange(), 0);
  EXPECT_TRUE(store_->PutResults({ResultOfVersion("a", 1), ResultOfVersion("b", 1)}).ok());
  EXPECT_THAT(*store_->AllRecords(), SizeIs(2));
}

TEST_F(StoreCareTest, ChangesAreNumberedAcrossRestartsAndAnnouncedInOrder) {
  std::vector<std::string> heard;
  const auto listen = [&](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
    heard.push_back(absl::StrCat(static_cast<int>(kind), record.name()));
  };
  store_->SetListener(listen);
  Put(ResultOfVersion("a", 100));
  Put(ResultOfVersion("a", 200));  // changes nothing
  Put(ResultOfVersion("b", 100));
  ASSERT_TRUE(store_->SetPinning("b.1", Pinning::kPinned).ok());
  ASSERT_TRUE(store_->SetPinning("b.1", Pinning::kPinned).ok());  // changes nothing
  ASSERT_TRUE(store_->RemoveResult("a.1").ok());
  EXPECT_THAT(heard, ElementsAre("1records/a.1", "1records/b.1", "3records/b.1", "2records/a.1"));
  Open();
  EXPECT_EQ(store_->LatestChange(), 4);
  const Result<std::vector<v1::KernelChange>> changes = store_->ChangesAfter(1, 2);
  ASSERT_THAT(*changes, SizeIs(2));
  EXPECT_EQ(changes->at(0).number(), 2);
  EXPECT_EQ(changes->at(0).record(), "records/b.1");
  EXPECT_EQ(changes->at(0).expression_digest(), "b");
  EXPECT_TRUE(changes->at(0).has_time());
  EXPECT_THAT(*store_->ChangesAfter(4, 10), IsEmpty());
  EXPECT_EQ(store_->ChangesAfter(5, 10).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_FALSE(store_->WaitForChange(4, absl::Milliseconds(1)));
  EXPECT_TRUE(store_->WaitForChange(3, absl::ZeroDuration()));
}

TEST_F(StoreCareTest, WhoFallsTooFarBehindIsToldSo) {
  std::vector<StoredResult> results;
  for (int64_t n = 0; n <= kRememberedChanges + 5; ++n) {
    results.push_back(ResultOfVersion(absl::StrCat(n), 1));
  }
  ASSERT_TRUE(store_->PutResults(results).ok());
  EXPECT_EQ(store_->ChangesAfter(0, 10).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(store_->ChangesAfter(5, 10).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(*store_->ChangesAfter(6, 10), SizeIs(10));
}

TEST_F(StoreCareTest, ARecordThatCannotBeReadIsSetAside) {
  Put(ResultOfVersion("a", 100));
  Put(ResultOfVersion("b", 100));
  Put(ResultOfVersion("c", 100));
  store_.reset();
  RunSql(path_,
         "UPDATE records SET record = x'ffff' WHERE id = 'a.1';"
         "UPDATE records SET record = (SELECT record FROM records WHERE id = 'c.1')"
         " WHERE id = 'b.1'");
  Open();
  const Result<std::vector<v1::TuningRecord>> records = store_->AllRecords();
  ASSERT_THAT(*records, SizeIs(1));
  EXPECT_EQ(records->front().name(), "records/c.1");
  v1::Statistics statistics;
  ASSERT_TRUE(store_->Count(statistics).ok());
  EXPECT_EQ(statistics.records(), 1);
  EXPECT_EQ(statistics.quarantined_records(), 2);
  EXPECT_EQ(store_->GetKernel("a.1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Put(ResultOfVersion("a", 200)), 200);
  EXPECT_THAT(*store_->CheckIntegrity(), IsEmpty());
}

TEST_F(StoreCareTest, ADamagedJobDoesNotHideTheOthers) {
  InsertEnded(1);
  InsertEnded(2);
  RunSql(path_, "UPDATE jobs SET job = x'ffff' WHERE number = 1");
  EXPECT_THAT(*store_->ListJobs(0, 10), SizeIs(1));
  EXPECT_THAT(*store_->CheckIntegrity(),
              ElementsAre("job 1 cannot be read", "1 is a job whose bytes have changed"));
  EXPECT_EQ(store_->GetJob(1).status().message(),
            "tuningJobs/1 cannot be read: a stored job is damaged");
}

TEST_F(StoreCareTest, JobsBelongToWhoClaimsThem) {
  const absl::Time now = absl::FromUnixSeconds(1'000);
  const absl::Time until = now + absl::Minutes(1);
  v1::TuningJob job;
  job.set_state(v1::TUNING_JOB_STATE_QUEUED);
  job.add_devices("devices/cpu");
  ASSERT_TRUE(store_->InsertJob(job, {"one", until}).ok());
  ASSERT_TRUE(store_->InsertJob(job).ok());
  job.set_devices(0, "devices/cuda0");
  ASSERT_TRUE(store_->InsertJob(job).ok());
  InsertEnded(1);
  // Who has not the devices of a job that is nobody's leaves it.
  EXPECT_EQ(*store_->ClaimJobs({"other", until}, now, {}), 0);
  EXPECT_EQ(*store_->ClaimJobs({"other", until}, now, {"devices/cuda0"}), 1);
  EXPECT_EQ(*store_->ClaimJobs({"one", until}, now, {"devices/cpu", "devices/cuda0"}), 2);
  EXPECT_THAT(*store_->UnfinishedJobs("other"), SizeIs(1));
  EXPECT_THAT(*store_->UnfinishedJobs("one"), SizeIs(2));
  const absl::Time later = now + absl::Minutes(2);
  EXPECT_EQ(*store_->ClaimJobs({"other", later + absl::Minutes(1)}, later, {"devices/cpu"}), 3);
  EXPECT_THAT(*store_->UnfinishedJobs("one"), IsEmpty());
}

TEST_F(StoreCareTest, OldAndSurplusJobsAreForgottenWithTheirTrials) {
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

TEST_F(StoreCareTest, ResultsOfOlderGeneratorsAreForgottenWhereThereIsANewerOne) {
  Put(ResultOfVersion("replaced", 100, 1));
  Put(ResultOfVersion("replaced", 200, 2));
  Put(ResultOfVersion("alone", 100, 1));
  Put(ResultOfVersion("pinned", 100, 1));
  Put(ResultOfVersion("pinned", 200, 2));
  ASSERT_TRUE(store_->SetPinning("pinned.1", Pinning::kPinned).ok());
  const auto forgotten =
      store_->Forget({.jobs_ended_before = absl::InfinitePast(), .generator_version = 2});
  EXPECT_EQ(forgotten->records(), 1);
  EXPECT_FALSE(store_->GetKernel("replaced.1").ok());
  EXPECT_TRUE(store_->GetKernel("alone.1").ok());
  EXPECT_TRUE(store_->GetKernel("pinned.1").ok());
}

TEST_F(StoreCareTest, WritesThatWaitShareATransaction) {
  constexpr int kThreads = 16;
  constexpr int kWrites = 50;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int n = 0; n < kWrites; ++n) {
        // Every fifth fails, alone.
        StoredResult result = ResultOfVersion(absl::StrCat(thread, "-", n), 1);
        if (n % 5 == 0) result.record.set_name("nonsense");
        EXPECT_EQ(store_->PutResult(result.record, result.kernel).ok(), n % 5 != 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(*store_->AllRecords(), SizeIs(kThreads * kWrites * 4 / 5));
  EXPECT_EQ(store_->LatestChange(), kThreads * kWrites * 4 / 5);
  v1::Statistics statistics;
  ASSERT_TRUE(store_->Count(statistics).ok());
  EXPECT_EQ(statistics.writes(), kThreads * kWrites);
  EXPECT_LT(statistics.transactions(), statistics.writes());
  RecordProperty("transactions", static_cast<int>(statistics.transactions()));
}

TEST(SqliteWriterTest, AFailedWriteIsUndoneAlone) {
  TemporaryDirectory directory;
  const std::string path = directory.File("some.sqlite");
  std::unique_ptr<SqliteDatabase> database = *SqliteDatabase::Open(path);
  ASSERT_TRUE(database->Execute("PRAGMA journal_mode = WAL").ok() ||
              database->QueryText("PRAGMA journal_mode").ok());
  ASSERT_TRUE(database->Execute("CREATE TABLE t (n INTEGER PRIMARY KEY)").ok());
  SqliteWriter writer(std::move(database));
  int committed = 0;
  const auto insert_and = [](int n, Status status) {
    return [n, status](SqliteDatabase& rows) -> Status {
      MDH_RETURN_IF_ERROR(rows.Execute(absl::StrCat("INSERT INTO t VALUES (", n, ")")));
      return status;
    };
  };
  EXPECT_TRUE(writer.Run(insert_and(1, absl::OkStatus()), [&] { ++committed; }).ok());
  EXPECT_EQ(writer.Run(insert_and(2, absl::AbortedError("no")), [&] { ++committed; }).code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(writer.Run(insert_and(1, absl::OkStatus()), [&] { ++committed; }).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(committed, 1);
  EXPECT_EQ(*(*SqliteDatabase::Open(path))->QueryInteger("SELECT count(*) FROM t"), 1);
}

TEST(SqliteCopyTest, ACopyThatIsThereIsNotReplaced) {
  TemporaryDirectory directory;
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = directory.File("mdhd.sqlite")});
  const std::string copy = directory.File("copy.sqlite");
  EXPECT_TRUE(store->BackUp(copy).ok());
  EXPECT_EQ(store->BackUp(copy).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(store->BackUp("/nowhere/at/all").ok());
  EXPECT_FALSE(std::filesystem::exists(copy + ".part"));
}

}  // namespace
}  // namespace mdh::store_care_test

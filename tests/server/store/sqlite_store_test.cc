#include "server/store/sqlite_store.h"

#include <sys/mount.h>

#include <cstring>
#include <fstream>
#include <map>

#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "tests/server/run_sql.h"
#include "tests/server/temporary_directory.h"

namespace mdh::sqlite_store_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::TuningRecord Record(const std::string& id, int64_t time_ns) {
  v1::TuningRecord record;
  record.set_name(RecordName(id));
  record.mutable_key()->set_expression_digest("digest of " + id);
  record.mutable_key()->set_canonical_form("canonical form of " + id);
  record.set_time_ns(time_ns);
  return record;
}

v1::Kernel KernelWithSource(const std::string& source) {
  v1::Kernel kernel;
  kernel.set_source(source);
  return kernel;
}

v1::TuningJob JobIn(v1::TuningJobState state, const std::string& request_id = "") {
  v1::TuningJob job;
  job.set_state(state);
  job.set_request_id(request_id);
  return job;
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open() {
    Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = path_});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  // The message with which opening is refused.
  std::string Refusal() {
    const Status status = OpenSqliteStore({.path = path_}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("folder/mdhd.sqlite");
};

TEST_F(SqliteStoreTest, WhatWasStoredIsThereAfterARestart) {
  {
    const std::unique_ptr<Store> store = Open();
    ASSERT_TRUE(store->PutResult(Record("a", 100), KernelWithSource("int a;")).ok());
    ASSERT_TRUE(store->InsertJob(JobIn(v1::TUNING_JOB_STATE_SUCCEEDED)).ok());
    v1::MachinePeaks peaks;
    peaks.set_fp32_flops_per_s(5);
    ASSERT_TRUE(store->PutPeaks("cpu", peaks).ok());
  }
  const std::unique_ptr<Store> store = Open();
  const Result<std::vector<v1::TuningRecord>> records = store->AllRecords();
  ASSERT_TRUE(records.ok());
  ASSERT_THAT(*records, SizeIs(1));
  EXPECT_EQ(records->front().SerializeAsString(), Record("a", 100).SerializeAsString());
  EXPECT_EQ(store->GetKernel("a")->source(), "int a;");
  EXPECT_EQ(store->GetJob(1)->name(), "tuningJobs/1");
  EXPECT_EQ((*store->GetPeaks("cpu"))->fp32_flops_per_s(), 5);
  EXPECT_FALSE(store->GetPeaks("another cpu")->has_value());
}

TEST_F(SqliteStoreTest, AWorseResultDoesNotReplaceABetterOne) {
  const std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(store->PutResult(Record("a", 100), KernelWithSource("first")).ok());
  EXPECT_EQ(store->PutResult(Record("a", 101), KernelWithSource("worse"))->time_ns(), 100);
  EXPECT_EQ(store->PutResult(Record("a", 100), KernelWithSource("equal"))->time_ns(), 100);
  EXPECT_EQ(store->GetKernel("a")->source(), "first");
  EXPECT_EQ(store->PutResult(Record("a", 99), KernelWithSource("better"))->time_ns(), 99);
  EXPECT_EQ(store->GetKernel("a")->source(), "better");
  EXPECT_THAT(*store->AllRecords(), SizeIs(1));
}

TEST_F(SqliteStoreTest, TimesOfOtherStatesOfTheCachesDoNotCompare) {
  const std::unique_ptr<Store> store = Open();
  v1::TuningRecord cold = Record("a", 300);
  cold.set_cache_state(v1::CACHE_STATE_COLD);
  ASSERT_TRUE(store->PutResult(Record("a", 100), KernelWithSource("warm")).ok());
  EXPECT_EQ(store->PutResult(cold, KernelWithSource("cold"))->time_ns(), 300);
  EXPECT_EQ(store->GetKernel("a")->source(), "cold");
  cold.set_time_ns(301);
  EXPECT_EQ(store->PutResult(cold, KernelWithSource("worse"))->time_ns(), 300);
  // Nothing replaces what is better founded, or pinned.
  v1::TuningRecord provisional = Record("a", 50);
  provisional.set_is_provisional(true);
  EXPECT_EQ(store->PutResult(provisional, KernelWithSource("so far"))->time_ns(), 300);
  ASSERT_TRUE(store->SetPinning("a", Pinning::kPinned).ok());
  EXPECT_EQ(store->PutResult(Record("a", 90), KernelWithSource("warm"))->time_ns(), 300);
  ASSERT_TRUE(store->SetPinning("a", Pinning::kNotPinned).ok());
  v1::TuningRecord warm = Record("a", 400);
  warm.set_cache_state(v1::CACHE_STATE_WARM);
  EXPECT_EQ(store->PutResult(warm, KernelWithSource("warm"))->time_ns(), 400);
  // Unspecified is warm.
  EXPECT_EQ(store->PutResult(Record("a", 401), KernelWithSource("warm"))->time_ns(), 400);
}

// What comes from elsewhere does not undo that somebody here asked for the other state.
TEST_F(SqliteStoreTest, GivenRecordsDoNotChangeTheStateOfTheCaches) {
  const std::unique_ptr<Store> store = Open();
  StoredResult given{Record("a", 100), KernelWithSource("given"), /*is_given=*/true};
  ASSERT_TRUE(store->PutResults({given}).ok());  // there is none yet
  v1::TuningRecord cold = Record("a", 300);
  cold.set_cache_state(v1::CACHE_STATE_COLD);
  ASSERT_TRUE(store->PutResult(cold, KernelWithSource("cold")).ok());
  for (const int64_t time_ns : {50, 300, 900}) {
    given.record.set_time_ns(time_ns);
    const auto stored = store->PutResults({given});
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ((*stored)[0].time_ns(), 300);
    EXPECT_EQ(store->GetKernel("a")->source(), "cold");
  }
  given.record.set_cache_state(v1::CACHE_STATE_COLD);
  given.record.set_time_ns(299);
  EXPECT_EQ((*store->PutResults({given}))[0].time_ns(), 299);
}

TEST_F(SqliteStoreTest, EachRecordIsReadOnceByAnyNumberOfThreads) {
  const std::unique_ptr<Store> store = Open();
  absl::Mutex mutex;
  std::map<std::string, int> seen;
  const auto take = [&](std::string_view bytes) {
    v1::TuningRecord record;
    EXPECT_TRUE(record.ParseFromString(std::string(bytes)));
    absl::MutexLock lock(&mutex);
    ++seen[record.name()];
  };
  ASSERT_TRUE(store->ForEachRecord(take).ok());
  EXPECT_THAT(seen, SizeIs(0));
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g"}) {
    ASSERT_TRUE(store->PutResult(Record(id, 100), KernelWithSource("")).ok());
  }
  ASSERT_TRUE(store->ForEachRecord(take).ok());
  EXPECT_THAT(seen, SizeIs(7));
  for (const auto& [name, times] : seen) EXPECT_EQ(times, 1) << name;
}

TEST_F(SqliteStoreTest, MissingThingsAreNotFound) {
  const std::unique_ptr<Store> store = Open();
  EXPECT_EQ(store->GetKernel("b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->GetJob(7).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->UpdateJob(7, JobIn(v1::TUNING_JOB_STATE_FAILED)).code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(store->FindJobByRequest("r")->has_value());
}

TEST_F(SqliteStoreTest, JobsAreListedFromTheNewestInPages) {
  const std::unique_ptr<Store> store = Open();
  for (int number = 1; number <= 5; ++number) {
    EXPECT_EQ(*store->InsertJob(JobIn(v1::TUNING_JOB_STATE_SUCCEEDED)), number);
  }
  const Result<std::vector<v1::TuningJob>> first = store->ListJobs(0, 2);
  ASSERT_THAT(*first, SizeIs(2));
  EXPECT_EQ(first->at(0).name(), "tuningJobs/5");
  EXPECT_EQ(first->at(1).name(), "tuningJobs/4");
  const Result<std::vector<v1::TuningJob>> rest = store->ListJobs(4, 10);
  ASSERT_THAT(*rest, SizeIs(3));
  EXPECT_EQ(rest->at(0).name(), "tuningJobs/3");
}

TEST_F(SqliteStoreTest, UnfinishedJobsAreThoseQueuedOrRunning) {
  const std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(store->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED)).ok());
  ASSERT_TRUE(store->InsertJob(JobIn(v1::TUNING_JOB_STATE_RUNNING)).ok());
  ASSERT_TRUE(store->InsertJob(JobIn(v1::TUNING_JOB_STATE_CANCELLED)).ok());
  EXPECT_THAT(*store->UnfinishedJobs(), SizeIs(2));
  ASSERT_TRUE(store->UpdateJob(1, JobIn(v1::TUNING_JOB_STATE_FAILED)).ok());
  const Result<std::vector<v1::TuningJob>> left = store->UnfinishedJobs();
  ASSERT_THAT(*left, SizeIs(1));
  EXPECT_EQ(left->front().name(), "tuningJobs/2");
}

TEST_F(SqliteStoreTest, ARequestIdBelongsToOneJob) {
  const std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(store->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED, "r")).ok());
  EXPECT_EQ(store->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED, "r")).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ((*store->FindJobByRequest("r"))->name(), "tuningJobs/1");
}

TEST_F(SqliteStoreTest, ASecondDaemonIsRefused) {
  const std::unique_ptr<Store> store = Open();
  EXPECT_THAT(Refusal(), HasSubstr(path_ + " is in use by another mdhd"));
}

TEST_F(SqliteStoreTest, ADatabaseOfAnotherApplicationIsRefusedAndUntouched) {
  std::filesystem::create_directories(directory_.path() / "folder");
  RunSql(path_, "CREATE TABLE songs (title TEXT); PRAGMA application_id = 7");
  EXPECT_THAT(Refusal(), HasSubstr(path_ + " belongs to another application"));
  RunSql(path_, "INSERT INTO songs VALUES ('still there')");
}

TEST_F(SqliteStoreTest, ADatabaseWithTablesButNoMarkIsRefused) {
  std::filesystem::create_directories(directory_.path() / "folder");
  RunSql(path_, "CREATE TABLE songs (title TEXT)");
  EXPECT_THAT(Refusal(), HasSubstr("belongs to another application"));
}

TEST_F(SqliteStoreTest, RecordsOfSchedulesAreBesideTheFreeOne) {
  const std::unique_ptr<Store> store = Open();
  v1::TuningRecord pinned = Record("b", 50);
  pinned.mutable_key()->set_expression_digest("digest of a");
  pinned.mutable_key()->set_canonical_form("canonical form of a");
  pinned.mutable_key()->set_schedule("L2: tile d1=2");
  ASSERT_TRUE(store->PutResult(Record("a", 100), KernelWithSource("int a;")).ok());
  ASSERT_TRUE(store->PutResult(pinned, KernelWithSource("int b;")).ok());
  EXPECT_EQ(store->GetRecord("a")->time_ns(), 100);
  EXPECT_EQ(store->GetRecord("b")->time_ns(), 50);
  pinned.set_time_ns(60);
  EXPECT_EQ(store->PutResult(pinned, KernelWithSource("int c;"))->time_ns(), 50);
}

// Version 6 had no schedules.
TEST_F(SqliteStoreTest, RecordsFromBeforeSchedulesAreFree) {
  {
    const std::unique_ptr<Store> store = Open();
    ASSERT_TRUE(store->PutResult(Record("a", 100), KernelWithSource("int a;")).ok());
    ASSERT_TRUE(store->PutResult(Record("b", 200), KernelWithSource("int b;")).ok());
  }
  RunSql(path_, R"sql(
    CREATE TABLE old_records (
      id TEXT PRIMARY KEY, expression_digest TEXT NOT NULL, canonical_form TEXT NOT NULL,
      device_fingerprint TEXT NOT NULL, compiler TEXT NOT NULL, generator_version INTEGER NOT NULL,
      numerics_policy INTEGER NOT NULL, time_ns INTEGER NOT NULL, record BLOB NOT NULL,
      is_provisional INTEGER NOT NULL DEFAULT 0, crc32 INTEGER NOT NULL DEFAULT 0,
      UNIQUE (expression_digest, canonical_form, device_fingerprint, compiler, generator_version,
              numerics_policy)) STRICT;
    INSERT INTO old_records SELECT id, expression_digest, canonical_form, device_fingerprint,
      compiler, generator_version, numerics_policy, time_ns, record, is_provisional, crc32
      FROM records;
    DROP TABLE records;
    ALTER TABLE old_records RENAME TO records;
    PRAGMA user_version = 6;
  )sql");
  const std::unique_ptr<Store> store = Open();
  ASSERT_THAT(*store->AllRecords(), SizeIs(2));
  EXPECT_EQ(store->GetRecord("a")->time_ns(), 100);
  EXPECT_EQ(store->GetKernel("b")->source(), "int b;");
  EXPECT_EQ(store->PutResult(Record("a", 90), KernelWithSource("int c;"))->time_ns(), 90);
  ASSERT_THAT(*store->AllRecords(), SizeIs(2));
}

TEST_F(SqliteStoreTest, ANewerSchemaIsRefused) {
  Open();
  RunSql(path_, "PRAGMA user_version = 99");
  EXPECT_THAT(Refusal(), HasSubstr("schema version 99"));
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsRefused) {
  std::filesystem::create_directories(directory_.path() / "folder");
  std::ofstream(path_)
      << "This is a letter and certainly no database, however long one looks at it.";
  EXPECT_THAT(Refusal(), HasSubstr(path_ + " is no SQLite database"));
}

TEST_F(SqliteStoreTest, ADamagedDatabaseIsRefused) {
  {
    const std::unique_ptr<Store> store = Open();
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(
          store->PutResult(Record(std::to_string(i), 1), KernelWithSource(std::string(500, 'x')))
              .ok());
    }
  }
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3 * 4096);
    file << std::string(3 * 4096, '\xa5');
  }
  EXPECT_THAT(Refusal(), HasSubstr(path_ + " is damaged"));
}

TEST_F(SqliteStoreTest, AFolderThatCannotBeMadeIsRefused) {
  std::ofstream(directory_.File("file")) << "no folder";
  const Status status = OpenSqliteStore({.path = directory_.File("file/mdhd.sqlite")}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("file/mdhd.sqlite"));
}

// Stores results until that fails; then what was acknowledged must be there, and nothing else.
void ExpectNothingLostWhenFull(const SqliteStoreOptions& options) {
  int stored = 0;
  {
    Result<std::unique_ptr<Store>> store = OpenSqliteStore(options);
    ASSERT_TRUE(store.ok()) << store.status();
    Status status;
    while (status.ok() && stored < 10'000) {
      status = (*store)
                   ->PutResult(Record(std::to_string(stored), 1),
                               KernelWithSource(std::string(20'000, 'x')))
                   .status();
      if (status.ok()) ++stored;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("full"));
    EXPECT_THAT(*(*store)->AllRecords(), SizeIs(stored));
    EXPECT_EQ((*store)
                  ->InsertJob(JobIn(v1::TUNING_JOB_STATE_QUEUED, std::string(60'000, 'r')))
                  .status()
                  .code(),
              absl::StatusCode::kResourceExhausted);
  }
  Result<std::unique_ptr<Store>> store = OpenSqliteStore(options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_GT(stored, 0);
  EXPECT_THAT(*(*store)->AllRecords(), SizeIs(stored));
  EXPECT_THAT(*(*store)->UnfinishedJobs(), IsEmpty());
  EXPECT_TRUE((*store)->GetKernel(std::to_string(stored - 1)).ok());
}

TEST_F(SqliteStoreTest, NothingIsLostAtTheSizeLimit) {
  ExpectNothingLostWhenFull({.path = path_, .max_bytes = 1 << 20});
}

TEST_F(SqliteStoreTest, NothingIsLostOnAFullDisk) {
  const std::string disk = directory_.File("disk");
  std::filesystem::create_directories(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno);
  }
  ExpectNothingLostWhenFull({.path = disk + "/mdhd.sqlite"});
  EXPECT_EQ(umount(disk.c_str()), 0);
}

}  // namespace
}  // namespace mdh::sqlite_store_test

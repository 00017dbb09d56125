// Databases of older daemons, and of newer ones.
#include <sqlite3.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "server/store/study_store.h"
#include "tests/error_message.h"
#include "tests/server/overwrite.h"
#include "tests/server/run_sql.h"
#include "tests/server/store/sqlite/old_schema.h"
#include "tests/server/study_specs.h"
#include "tests/server/temporary_directory.h"

namespace mdh::sqlite_migration_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::Study NewStudy() {
  v1::Study study;
  *study.mutable_spec() = ProductSpec("evaluations(5)");
  study.set_state(v1::STUDY_STATE_ACTIVE);
  return study;
}

// As version 0.1 wrote it.
constexpr const char* kVersion1 = R"sql(
    CREATE TABLE records (id TEXT PRIMARY KEY, expression_digest TEXT NOT NULL,
      canonical_form TEXT NOT NULL, device_fingerprint TEXT NOT NULL, compiler TEXT NOT NULL,
      generator_version INTEGER NOT NULL, numerics_policy INTEGER NOT NULL,
      time_ns INTEGER NOT NULL, record BLOB NOT NULL,
      UNIQUE (expression_digest, canonical_form, device_fingerprint, compiler, generator_version,
              numerics_policy)) STRICT;
    CREATE TABLE kernels (id TEXT PRIMARY KEY, kernel BLOB NOT NULL) STRICT;
    CREATE TABLE jobs (number INTEGER PRIMARY KEY AUTOINCREMENT, request_id TEXT UNIQUE,
      is_finished INTEGER NOT NULL, job BLOB NOT NULL) STRICT;
    CREATE INDEX unfinished_jobs ON jobs (number) WHERE is_finished = 0;
    CREATE TABLE devices (fingerprint TEXT PRIMARY KEY, peaks BLOB NOT NULL) STRICT;
    INSERT INTO jobs (is_finished, job) VALUES (1, x'');
    PRAGMA application_id = 0x4d444864;
    PRAGMA user_version = 1;
    )sql";

TEST(SqliteMigrationTest, DatabasesWithoutStudiesGetThem) {
  TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sqlite");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, kVersion1, nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  const Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = path});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->GetJob(1)->name(), "tuningJobs/1");
  const Result<std::unique_ptr<StudyStore>> studies = (*store)->OpenStudies();
  ASSERT_TRUE(studies.ok()) << studies.status();
  EXPECT_EQ(*(*studies)->InsertStudy(NewStudy()), 1);
  // The copy from before is the database as it was.
  ASSERT_EQ(sqlite3_open((path + ".schema-1").c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "SELECT job FROM jobs", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_NE(sqlite3_exec(database, "SELECT * FROM studies", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
}

TEST(SqliteMigrationTest, TheStudiesOfOlderDatabasesAreCounted) {
  TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sqlite");
  StudyTotals before;
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
    const std::unique_ptr<StudyStore> studies = *store->OpenStudies();
    const int64_t number = *studies->InsertStudy(NewStudy());
    JournalTrial trial;
    trial.trial.set_number(1);
    for (int time = 0; time < 2; ++time) {  // the second replaces the first
      ASSERT_TRUE(WriteTrials(*studies, number, NewStudy(), absl::MakeConstSpan(&trial, 1)).ok());
      trial.trial.set_failure("which makes it longer");
    }
    before = *studies->Totals();
    EXPECT_EQ(before.studies, 1);
  }
  std::string undo = kToVersion7;
  for (const char* trigger : {"study_inserted", "study_updated", "study_deleted",
                              "study_spec_inserted", "study_spec_deleted", "study_trial_inserted",
                              "study_trial_updated", "study_trial_deleted"}) {
    undo += absl::StrCat("DROP TRIGGER ", trigger, ";");
  }
  for (const char* table : {"jobs", "job_trials", "studies", "study_specs", "study_trials"}) {
    undo += absl::StrCat("ALTER TABLE ", table, " DROP COLUMN crc32;");
  }
  undo += "DROP TABLE study_totals; DROP TABLE commits; PRAGMA user_version = 4;";
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, undo.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
  const std::unique_ptr<StudyStore> studies = *store->OpenStudies();
  EXPECT_EQ(studies->Totals()->studies, before.studies);
  EXPECT_EQ(studies->Totals()->bytes, before.bytes);
  ASSERT_TRUE(studies->DeleteStudy(1).ok());
  EXPECT_EQ(studies->Totals()->bytes, 0);
}

// Version 6 had no schedules.
TEST(SqliteMigrationTest, RecordsFromBeforeSchedulesAreFree) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sqlite");
  const auto put = [](Store& store, const std::string& id, int64_t time_ns) {
    v1::TuningRecord record;
    record.set_name(RecordName(id));
    record.mutable_key()->set_expression_digest(id);
    record.set_time_ns(time_ns);
    v1::Kernel kernel;
    kernel.set_source("of " + id);
    return store.PutResult(record, kernel)->time_ns();
  };
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
    EXPECT_EQ(put(*store, "a", 100), 100);
    EXPECT_EQ(put(*store, "b", 200), 200);
  }
  RunSql(path, kToVersion7);
  RunSql(path, R"sql(
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
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
  ASSERT_THAT(*store->AllRecords(), SizeIs(2));
  EXPECT_EQ(store->GetRecord("a")->time_ns(), 100);
  EXPECT_EQ(store->GetKernel("b")->source(), "of b");
  EXPECT_EQ(put(*store, "a", 90), 90);
  ASSERT_THAT(*store->AllRecords(), SizeIs(2));
}

// As version 7 left it: what it has is there, and goes on as if it had always had owners.
TEST(SqliteMigrationTest, JobsAndStudiesFromBeforeClaimsGoOn) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sqlite");
  v1::TuningJob job;
  job.set_state(v1::TUNING_JOB_STATE_RUNNING);
  v1::TuningTrial trial;
  trial.set_number(4);
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
    const JobClaim claim = store->InsertJob(job, {"mdhd", absl::Minutes(10)})->claim;
    ASSERT_TRUE(store->PutTrials(claim, {trial}).ok());
    ASSERT_EQ(*(*store->OpenStudies())->InsertStudy(NewStudy()), 1);
  }
  RunSql(path, kToVersion7);
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
  EXPECT_THAT(*store->CheckIntegrity(), SizeIs(0));
  EXPECT_NE(store->incarnation(), "");
  const auto claimed = store->ClaimJobs({"mdhd", absl::Minutes(10)}, {.takes_own = true});
  ASSERT_THAT(*claimed, SizeIs(1));
  EXPECT_EQ(claimed->front().claim, (JobClaim{1, 1}));
  // Of the same number, and of another owner.
  ASSERT_TRUE(store->PutTrials(claimed->front().claim, {trial}).ok());
  EXPECT_THAT(*store->ListTrials(1, 0, 0), SizeIs(2));
  const std::unique_ptr<StudyStore> studies = *store->OpenStudies();
  EXPECT_EQ(studies->GetStudy(1)->version, 1);
  EXPECT_EQ(*studies->PutTrials(1, 1, NewStudy(), {}), 2);
}

// Version 8 knew of no other daemons; who knows it can use what is written now.
TEST(SqliteMigrationTest, NodesAreAddedAndOlderDaemonsGoOn) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sqlite");
  ASSERT_TRUE((*OpenSqliteStore({.path = path}))->InsertJob(v1::TuningJob()).ok());
  RunSql(path, kToVersion8);
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
  EXPECT_EQ(store->schema_version(), 10);
  EXPECT_TRUE(store->GetJob(1).ok());
  EXPECT_THAT(*store->ListNodes(), SizeIs(0));
  RunSql(path,
         "CREATE TABLE check_of_store AS SELECT 1 FROM store WHERE readable_from = 8;"
         "INSERT INTO check_of_store SELECT 1 / count(*) FROM check_of_store");
}

// Version 9 knew of no wishes for more; who knows it, or version 8, can use what is written now.
TEST(SqliteMigrationTest, WishesForMoreAreAddedAndOlderDaemonsGoOn) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sqlite");
  const JobLease lease = {"one", absl::Hours(1)};
  ASSERT_TRUE((*OpenSqliteStore({.path = path}))->InsertJob(v1::TuningJob(), lease).ok());
  RunSql(path,
         "ALTER TABLE jobs DROP COLUMN wanted_more; UPDATE store SET schema_version = 9;"
         "PRAGMA user_version = 9");
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
  EXPECT_EQ((*store->RenewLeases(lease)).front().more, "");
  ASSERT_TRUE(store
                  ->WishMoreOfJob(1,
                                  [](v1::TuningJob wanted) {
                                    wanted.add_awaited_jobs("tuningJobs/7");
                                    return wanted;
                                  })
                  .ok());
  EXPECT_NE((*store->RenewLeases(lease)).front().more, "");
  RunSql(path,
         "CREATE TABLE check_of_store AS SELECT 1 FROM store WHERE readable_from = 8;"
         "INSERT INTO check_of_store SELECT 1 / count(*) FROM check_of_store");
}

// Version 99 says who can use what it writes.
TEST(SqliteMigrationTest, ANewerDatabaseIsUsedIfItSaysSo) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sqlite");
  const auto open = [&] { return OpenSqliteStore({.path = path}); };
  const int64_t known = (*open())->schema_version();
  RunSql(path, "PRAGMA user_version = 99");
  // Whoever wrote that has not said anything.
  EXPECT_EQ(open().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ErrorMessage(open().status()), HasSubstr("schema version 99"));
  RunSql(path,
         "ALTER TABLE jobs ADD COLUMN what_only_99_knows INTEGER NOT NULL DEFAULT 0;"
         "UPDATE store SET schema_version = 99, readable_from = " +
             std::to_string(known));
  {
    const Result<std::unique_ptr<Store>> store = open();
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->schema_version(), 99);
    EXPECT_TRUE((*store)->InsertJob(v1::TuningJob()).ok());
  }
  RunSql(path, "UPDATE store SET readable_from = " + std::to_string(known + 1));
  EXPECT_THAT(ErrorMessage(open().status()),
              HasSubstr(absl::StrCat("has schema version 99, which can be used from version ",
                                     known + 1, " on")));
}

TEST(SqliteMigrationTest, ANewDatabaseIsNotCopied) {
  TemporaryDirectory directory;
  ASSERT_TRUE(OpenSqliteStore({.path = directory.File("mdhd.sqlite")}).ok());
  for (const auto& file : std::filesystem::directory_iterator(directory.path())) {
    EXPECT_EQ(file.path().string().find(".schema-"), std::string::npos) << file.path();
  }
}

}  // namespace
}  // namespace mdh::sqlite_migration_test

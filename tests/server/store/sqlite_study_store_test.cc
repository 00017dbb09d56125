#include <sqlite3.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite_store.h"
#include "server/store/study_store.h"
#include "tests/error_message.h"
#include "tests/server/study_specs.h"
#include "tests/server/temporary_directory.h"

namespace mdh::sqlite_study_store_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kNoLimit = int64_t{1} << 40;

v1::Study NewStudy(const std::string& request_id = "") {
  v1::Study study;
  *study.mutable_spec() = ProductSpec("evaluations(5)");
  study.set_state(v1::STUDY_STATE_ACTIVE);
  study.set_space_count("144");
  study.set_request_id(request_id);
  return study;
}

JournalTrial Leased(int64_t number) {
  JournalTrial trial;
  trial.asked_ns = 10 * number;
  trial.trial.set_number(number);
  trial.trial.mutable_lease_expire_time()->set_seconds(number);
  return trial;
}

JournalTrial Told(int64_t number, int64_t order) {
  JournalTrial trial;
  trial.asked_ns = 10 * number;
  trial.told_ns = 100 * number;
  trial.order = order;
  trial.trial.set_number(number);
  trial.trial.set_cost(static_cast<double>(number));
  return trial;
}

class SqliteStudyStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    studies_.reset();
    store_.reset();
    Result<std::unique_ptr<Store>> store =
        OpenSqliteStore({.path = path_, .max_bytes = max_bytes_});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    Result<std::unique_ptr<StudyStore>> studies = store_->OpenStudies();
    ASSERT_TRUE(studies.ok()) << studies.status();
    studies_ = *std::move(studies);
  }
  int64_t Insert(const std::string& request_id = "") {
    const Result<int64_t> number = studies_->InsertStudy(NewStudy(request_id));
    EXPECT_TRUE(number.ok()) << number.status();
    return number.value_or(0);
  }
  std::vector<int64_t> ToldNumbers(int64_t study, int64_t after, int limit,
                                   int64_t max_bytes = kNoLimit) {
    std::vector<int64_t> numbers;
    const Result<std::vector<v1::StudyTrial>> trials =
        studies_->ToldTrials(study, after, limit, max_bytes);
    for (const v1::StudyTrial& trial : *trials) numbers.push_back(trial.number());
    return numbers;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
  int64_t max_bytes_ = 0;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StudyStore> studies_;
};

TEST_F(SqliteStudyStoreTest, WhatWasStoredIsThereAfterARestart) {
  EXPECT_EQ(Insert("r"), 1);
  v1::Study study = NewStudy("r");
  study.set_state(v1::STUDY_STATE_FINISHED);
  study.set_evaluations(2);
  ASSERT_TRUE(studies_->PutTrials(1, study, {Leased(1), Leased(2), Leased(3)}).ok());
  ASSERT_TRUE(studies_->PutTrials(1, study, {Told(3, 1), Told(1, 2)}).ok());
  Open();
  study.set_name("studies/1");
  EXPECT_EQ(studies_->GetStudy(1)->DebugString(), study.DebugString());
  EXPECT_EQ((*studies_->FindStudyByRequest("r"))->DebugString(), study.DebugString());
  const Result<std::vector<JournalTrial>> trials = studies_->AllTrials(1);
  ASSERT_THAT(*trials, SizeIs(3));
  EXPECT_EQ(trials->at(0).trial.DebugString(), Told(1, 2).trial.DebugString());
  EXPECT_EQ(trials->at(0).asked_ns, 10);
  EXPECT_EQ(trials->at(0).told_ns, 100);
  EXPECT_EQ(trials->at(0).order, 2);
  EXPECT_EQ(trials->at(1).trial.lease_expire_time().seconds(), 2);
  EXPECT_EQ(trials->at(1).order, 0);
  EXPECT_EQ(trials->at(2).order, 1);
  EXPECT_EQ(ToldNumbers(1, 0, 10), std::vector<int64_t>({1, 3}));
}

TEST_F(SqliteStudyStoreTest, ListsTheNewestFirstAndInBrief) {
  for (int number = 1; number <= 4; ++number) EXPECT_EQ(Insert(), number);
  const Result<std::vector<v1::Study>> studies = studies_->ListStudies(4, 2, kNoLimit);
  ASSERT_THAT(*studies, SizeIs(2));
  EXPECT_EQ(studies->at(0).name(), "studies/3");
  EXPECT_EQ(studies->at(1).name(), "studies/2");
  EXPECT_EQ(studies->at(0).spec().display_name(), "product");
  EXPECT_EQ(studies->at(0).spec().abort(), "evaluations(5)");
  EXPECT_THAT(studies->at(0).spec().parameters(), IsEmpty());
  EXPECT_THAT(*studies_->ListStudies(0, 10, kNoLimit), SizeIs(4));
  EXPECT_THAT(*studies_->ListStudies(0, 10, 1), SizeIs(1));
  EXPECT_THAT(*studies_->ListStudies(1, 10, kNoLimit), IsEmpty());
}

TEST_F(SqliteStudyStoreTest, TrialsComeInPages) {
  const int64_t study = Insert();
  std::vector<JournalTrial> trials;
  for (int number = 1; number <= 9; ++number) trials.push_back(Told(number, 10 - number));
  trials[3] = Leased(4);
  ASSERT_TRUE(studies_->PutTrials(study, NewStudy(), trials).ok());
  EXPECT_EQ(ToldNumbers(study, 0, 4), std::vector<int64_t>({1, 2, 3, 5}));
  EXPECT_EQ(ToldNumbers(study, 5, 4), std::vector<int64_t>({6, 7, 8, 9}));
  EXPECT_EQ(ToldNumbers(study, 5, 4, 1), std::vector<int64_t>({6}));
  EXPECT_THAT(ToldNumbers(study, 9, 4), IsEmpty());
}

TEST_F(SqliteStudyStoreTest, ARequestIdBelongsToOneStudy) {
  EXPECT_EQ(Insert("r"), 1);
  EXPECT_EQ(studies_->InsertStudy(NewStudy("r")).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Insert(), 2) << "what was refused has left nothing behind";
  EXPECT_FALSE(studies_->FindStudyByRequest("s")->has_value());
}

TEST_F(SqliteStudyStoreTest, CountsThoseThatAreActive) {
  Insert();
  Insert();
  v1::Study study = NewStudy();
  study.set_state(v1::STUDY_STATE_CANCELLED);
  ASSERT_TRUE(studies_->PutTrials(1, study, {}).ok());
  EXPECT_EQ(*studies_->CountActiveStudies(), 1);
}

TEST_F(SqliteStudyStoreTest, DeletionTakesTheTrialsToo) {
  Insert("r");
  ASSERT_TRUE(studies_->PutTrials(1, NewStudy("r"), {Told(1, 1)}).ok());
  ASSERT_TRUE(studies_->DeleteStudy(1).ok());
  EXPECT_THAT(*studies_->AllTrials(1), IsEmpty());
  EXPECT_FALSE(studies_->FindStudyByRequest("r")->has_value());
  EXPECT_EQ(Insert("r"), 2) << "names are not used again";
}

TEST_F(SqliteStudyStoreTest, MissingStudiesAreNotFound) {
  EXPECT_EQ(studies_->GetStudy(7).status(), absl::NotFoundError("there is no study 7"));
  EXPECT_EQ(studies_->DeleteStudy(7), absl::NotFoundError("there is no study 7"));
  EXPECT_EQ(studies_->PutTrials(7, NewStudy(), {Told(1, 1)}),
            absl::NotFoundError("there is no study 7"));
  EXPECT_THAT(*studies_->AllTrials(7), IsEmpty());
}

TEST_F(SqliteStudyStoreTest, NothingIsHalfWrittenAtTheSizeLimit) {
  max_bytes_ = 1 << 20;
  Open();
  const int64_t study = Insert();
  int64_t stored = 0;
  Status status;
  while (status.ok() && stored < 10'000) {
    // Two trials of one call: both are there, or none.
    std::vector<JournalTrial> trials = {Told(stored + 1, stored + 1), Told(stored + 2, stored + 2)};
    for (JournalTrial& trial : trials) trial.trial.set_failure(std::string(4'000, 'x'));
    status = studies_->PutTrials(study, NewStudy(), trials);
    if (status.ok()) stored += 2;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(ErrorMessage(status), HasSubstr("full"));
  EXPECT_GT(stored, 0);
  EXPECT_THAT(*studies_->AllTrials(study), SizeIs(stored));
  Open();
  EXPECT_THAT(*studies_->AllTrials(study), SizeIs(stored));
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
      ASSERT_TRUE(studies->PutTrials(number, NewStudy(), absl::MakeConstSpan(&trial, 1)).ok());
      trial.trial.set_failure("which makes it longer");
    }
    before = *studies->Totals();
    EXPECT_EQ(before.studies, 1);
  }
  std::string undo;
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

TEST(SqliteMigrationTest, ANewDatabaseIsNotCopied) {
  TemporaryDirectory directory;
  ASSERT_TRUE(OpenSqliteStore({.path = directory.File("mdhd.sqlite")}).ok());
  for (const auto& file : std::filesystem::directory_iterator(directory.path())) {
    EXPECT_EQ(file.path().string().find(".schema-"), std::string::npos) << file.path();
  }
}

}  // namespace
}  // namespace mdh::sqlite_study_store_test

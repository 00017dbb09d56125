#include "server/store/sqlite/sqlite_store.h"

#include <sys/mount.h>

#include <cstring>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/overwrite.h"
#include "tests/server/run_sql.h"
#include "tests/server/store/stored_samples.h"
#include "tests/server/temporary_directory.h"

namespace mdh::sqlite_store_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
      ASSERT_TRUE(store
                      ->PutResult(SampleRecord(std::to_string(i), 1),
                                  KernelWithSource(std::string(500, 'x')))
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
                   ->PutResult(SampleRecord(std::to_string(stored), 1),
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

TEST_F(SqliteStoreTest, NothingOfStudiesIsHalfWrittenAtTheSizeLimit) {
  const SqliteStoreOptions small = {.path = path_, .max_bytes = 1 << 20};
  std::unique_ptr<Store> store = *OpenSqliteStore(small);
  std::unique_ptr<StudyStore> studies = *store->OpenStudies();
  const int64_t study = *studies->InsertStudy(v1::Study());
  int64_t stored = 0;
  Status status;
  while (status.ok() && stored < 10'000) {
    // Two trials of one call: both are there, or none.
    std::vector<JournalTrial> trials(2);
    for (JournalTrial& trial : trials) {
      trial.trial.set_number(stored + 1 + (&trial - trials.data()));
      trial.trial.set_failure(std::string(4'000, 'x'));
    }
    status = WriteTrials(*studies, study, v1::Study(), trials);
    if (status.ok()) stored += 2;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("full"));
  EXPECT_GT(stored, 0);
  EXPECT_THAT(*ReadTrials(*studies, study), SizeIs(stored));
  studies.reset();
  store.reset();
  store = *OpenSqliteStore(small);
  EXPECT_THAT(*ReadTrials(**store->OpenStudies(), study), SizeIs(stored));
}

// Cursors of before say nothing of what is changed now.
TEST_F(SqliteStoreTest, ARestoredBackupIsAnotherIncarnation) {
  const std::string copy = directory_.File("copy.sqlite");
  std::string first;
  {
    const std::unique_ptr<Store> store = Open();
    first = store->incarnation();
    ASSERT_TRUE(store->PutResult(SampleRecord("a", 1), KernelWithSource("")).ok());
    ASSERT_TRUE(store->BackUp(copy).ok());
    ASSERT_TRUE(store->PutResult(SampleRecord("b", 1), KernelWithSource("")).ok());
  }
  EXPECT_EQ(Open()->incarnation(), first);
  std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(Open()->incarnation(), first);
  // From the first that is written on it stays.
  std::string second;
  {
    const std::unique_ptr<Store> store = Open();
    second = store->incarnation();
    ASSERT_TRUE(store->PutResult(SampleRecord("c", 1), KernelWithSource("")).ok());
  }
  EXPECT_NE(second, first);
  EXPECT_EQ(Open()->incarnation(), second);
  // On another machine.
  const std::string elsewhere = directory_.File("elsewhere.sqlite");
  std::filesystem::copy_file(copy, elsewhere);
  EXPECT_NE((*OpenSqliteStore({.path = elsewhere}))->incarnation(), first);
  // What only reads it tells it, too.
  EXPECT_EQ((*OpenSqliteStore({.path = path_, .is_read_only = true}))->incarnation(), second);
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

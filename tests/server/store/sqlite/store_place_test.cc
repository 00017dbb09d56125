// A database by whatever name: one daemon at a time, which notices when somebody takes the files
// away, and says when the log has lost what was acknowledged.
#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "server/services/housekeeper.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/run_sql.h"
#include "tests/server/temporary_directory.h"

namespace mdh::store_place_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

StoredResult ResultFor(const std::string& id, int64_t time_ns = 100) {
  StoredResult result;
  result.record.set_name(RecordName(id));
  result.record.mutable_key()->set_expression_digest(id);
  result.record.set_time_ns(time_ns);
  result.kernel.set_source("source of " + id);
  return result;
}

class StorePlaceTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open() {
    Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = path_});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  static Status Put(Store& store, const std::string& id) {
    const StoredResult result = ResultFor(id);
    return store.PutResult(result.record, result.kernel).status();
  }
  static std::string Problem(Store& store) {
    v1::Statistics statistics;
    EXPECT_TRUE(store.Count(statistics).ok());
    return statistics.storage_problem();
  }
  void ExpectInUse(const std::string& path) {
    for (const bool is_read_only : {false, true}) {
      const Status refused = OpenSqliteStore({.path = path, .is_read_only = is_read_only}).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
      EXPECT_THAT(std::string(refused.message()), HasSubstr(path + " is in use by another mdhd"));
    }
  }
  // What the daemon must do when its files are gone: say so, refuse, and save what it has.
  void ExpectRefusalAndCopy(Store& store, const std::string& what) {
    const Status why = store.CheckWritable();
    EXPECT_EQ(why.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(why.message()), HasSubstr(what));
    EXPECT_EQ(Put(store, "refused").code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(store.CheckIntegrity().status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(store.BackUp(directory_.File("backup")).code(),
              absl::StatusCode::kFailedPrecondition);
    // What is stored is read on.
    EXPECT_EQ(store.GetKernel("b")->source(), "source of b");
    store.LookAfter();
    store.LookAfter();
    EXPECT_THAT(Problem(store), HasSubstr(recovered_));
    const std::unique_ptr<Store> copy = *OpenSqliteStore({.path = recovered_});
    EXPECT_THAT(*copy->AllRecords(), SizeIs(2));
    EXPECT_THAT(*copy->CheckIntegrity(), IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(recovered_ + "-2"));
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
  const std::string recovered_ = path_ + ".recovered";
};

TEST_F(StorePlaceTest, OneDaemonWhateverTheNameOfTheFile) {
  const std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(Put(*store, "a").ok());
  const std::string symbolic = directory_.File("symbolic"), hard = directory_.File("hard");
  std::filesystem::create_symlink(path_, symbolic);
  std::filesystem::create_hard_link(path_, hard);
  std::filesystem::create_directory_symlink(directory_.path(), directory_.File("folder"));
  for (const std::string& path :
       {path_, symbolic, hard, directory_.File("folder/mdhd.sqlite"), directory_.File("./hard")}) {
    SCOPED_TRACE(path);
    ExpectInUse(path);
  }
  // Whoever deletes the lock file has not got the lock.
  std::filesystem::remove(path_ + ".lock");
  ExpectInUse(path_);
  EXPECT_TRUE(Put(*store, "b").ok());
}

TEST_F(StorePlaceTest, ByASymbolicLinkItIsTheSameDatabase) {
  ASSERT_TRUE(Put(*Open(), "a").ok());
  const std::string symbolic = directory_.File("symbolic");
  std::filesystem::create_symlink(path_, symbolic);
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = symbolic});
  EXPECT_TRUE(Put(*store, "b").ok());
  EXPECT_THAT(*store->AllRecords(), SizeIs(2));
  EXPECT_TRUE(store->CheckWritable().ok());
  std::filesystem::remove(symbolic);
  EXPECT_FALSE(store->CheckWritable().ok());
}

TEST_F(StorePlaceTest, ADeletedDatabaseIsNoticedAndSaved) {
  const std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(Put(*store, "a").ok());
  ASSERT_TRUE(Put(*store, "b").ok());
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
  ExpectRefusalAndCopy(*store, path_ + " was moved or deleted");
  EXPECT_FALSE(std::filesystem::exists(path_)) << "nobody makes an empty one in its place";
}

TEST_F(StorePlaceTest, AMovedDatabaseIsNoticedAndWhole) {
  const std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(Put(*store, "a").ok());
  ASSERT_TRUE(Put(*store, "b").ok());
  const std::string elsewhere = directory_.File("elsewhere");
  std::filesystem::rename(path_, elsewhere);
  ExpectRefusalAndCopy(*store, path_ + " was moved or deleted");
  // Back in its place it is used as before.
  std::filesystem::rename(elsewhere, path_);
  EXPECT_TRUE(store->CheckWritable().ok());
  EXPECT_TRUE(Put(*store, "c").ok());
  // Whenever that happens again.
  std::filesystem::rename(path_, elsewhere);
  store->LookAfter();
  EXPECT_THAT(Problem(*store), HasSubstr(recovered_ + "-2"));
  EXPECT_THAT(*(*OpenSqliteStore({.path = recovered_ + "-2"}))->AllRecords(), SizeIs(3));
}

TEST_F(StorePlaceTest, AReplacedDatabaseIsNotTouched) {
  {
    const std::unique_ptr<Store> other = *OpenSqliteStore({.path = directory_.File("other")});
    ASSERT_TRUE(Put(*other, "c").ok());
  }
  std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(Put(*store, "a").ok());
  ASSERT_TRUE(Put(*store, "b").ok());
  std::filesystem::rename(directory_.File("other"), path_);
  ExpectRefusalAndCopy(*store, path_ + " was replaced by another file");
  store.reset();
  store = Open();
  const auto records = *store->AllRecords();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records.front().name(), RecordName("c"));
  EXPECT_THAT(*store->CheckIntegrity(),
              ::testing::ElementsAre(HasSubstr("an older database was put in its place")));
}

TEST_F(StorePlaceTest, ADeletedLogIsNoticed) {
  const std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(Put(*store, "a").ok());
  ASSERT_TRUE(Put(*store, "b").ok());
  std::filesystem::remove(path_ + "-wal");
  ExpectRefusalAndCopy(*store, path_ + "-wal was moved or deleted");
}

TEST_F(StorePlaceTest, TheHousekeeperLooksAfterIt) {
  const std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(Put(*store, "a").ok());
  HousekeeperOptions options;
  options.look = absl::Milliseconds(5);
  options.looks = {[&] { store->LookAfter(); }};
  const auto housekeeper = *Housekeeper::Start(*store, AdminOptions(), std::move(options));
  std::filesystem::remove(path_);
  for (int n = 0; n < 1'000 && !std::filesystem::exists(recovered_); ++n) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_THAT(*(*OpenSqliteStore({.path = recovered_}))->AllRecords(), SizeIs(1));
}

// ---- The log ----

class StoreLogTest : public StorePlaceTest {
 protected:
  // The files as a process that was killed leaves them.
  void Abandon() {
    const std::unique_ptr<Store> store = Open();
    for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(Put(*store, id).ok());
    for (const char* suffix : {"", "-wal", ".lock"}) {
      std::filesystem::copy_file(path_ + suffix, directory_.File("left") + suffix);
    }
  }
  void TakeAbandoned() {
    for (const char* suffix : {"", "-wal", ".lock"}) {
      std::filesystem::copy_file(directory_.File("left") + suffix, path_ + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    std::filesystem::remove(path_ + "-shm");
  }
  int64_t LostTransactions() {
    const std::unique_ptr<Store> store = Open();
    v1::Statistics statistics;
    EXPECT_TRUE(store->Count(statistics).ok());
    const std::vector<std::string> problems = *store->CheckIntegrity();
    EXPECT_EQ(problems.empty(), statistics.lost_transactions() == 0);
    EXPECT_EQ(statistics.storage_problem().empty(), problems.empty());
    for (const std::string& problem : problems) {
      EXPECT_THAT(problem,
                  ::testing::AllOf(HasSubstr("that were acknowledged are not in database " + path_),
                                   HasSubstr("log was cut or damaged")));
    }
    return statistics.lost_transactions();
  }
};

TEST_F(StoreLogTest, AWholeLogHasLostNothing) {
  Abandon();
  TakeAbandoned();
  EXPECT_EQ(LostTransactions(), 0);
  EXPECT_THAT(*Open()->AllRecords(), SizeIs(3));
}

TEST_F(StoreLogTest, WhatALogHasLostIsSaid) {
  Abandon();
  const std::string log = directory_.File("left-wal");
  const auto size = std::filesystem::file_size(log);
  // The last transaction; all of them, with what made the tables.
  TakeAbandoned();
  std::filesystem::resize_file(path_ + "-wal", size - 100);
  EXPECT_EQ(LostTransactions(), 1);
  // Until something is written.
  EXPECT_EQ(LostTransactions(), 1);
  EXPECT_TRUE(Put(*Open(), "d").ok());
  EXPECT_EQ(LostTransactions(), 0);
  TakeAbandoned();
  {
    std::fstream file(path_ + "-wal", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size) - 3 * 4096);
    file.put('!');
  }
  EXPECT_GE(LostTransactions(), 1);
}

TEST_F(StoreLogTest, ALockFileThatSaysNothingIsNoReasonToWorry) {
  Abandon();
  for (const char* text : {"", "transactions 0000000000000000099 00000000\n", "what?"}) {
    TakeAbandoned();
    std::ofstream(path_ + ".lock", std::ios::trunc) << text;
    EXPECT_EQ(LostTransactions(), 0) << text;
  }
}

TEST_F(StoreLogTest, ANewDatabaseHasLostNothing) {
  ASSERT_TRUE(Put(*Open(), "a").ok());
  std::filesystem::remove(path_);
  EXPECT_EQ(LostTransactions(), 0);
}

// ---- Kernels and their records ----

TEST_F(StorePlaceTest, TheKernelOfAnotherRecordIsNotHandedOut) {
  {
    const std::unique_ptr<Store> store = Open();
    ASSERT_TRUE(Put(*store, "a").ok());
    ASSERT_TRUE(Put(*store, "b").ok());
  }
  RunSql(path_,
         "UPDATE kernels SET id = 'x' WHERE id = 'a';"
         "UPDATE kernels SET id = 'a' WHERE id = 'b';"
         "UPDATE kernels SET id = 'b' WHERE id = 'x'");
  const std::unique_ptr<Store> store = Open();
  for (const auto& [id, other] : {std::pair("a", "b"), std::pair("b", "a")}) {
    const Status refused = store->GetKernel(id).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(absl::StrCat("what is stored for it is kernels/", other)));
  }
  EXPECT_THAT(*store->CheckIntegrity(),
              ::testing::UnorderedElementsAre("kernel a is stored as 'kernels/b'",
                                              "kernel b is stored as 'kernels/a'"));
  v1::Kernel kernel;
  kernel.set_source("again");
  ASSERT_TRUE(store->RestoreKernel("a", kernel).ok());
  EXPECT_EQ(store->GetKernel("a")->source(), "again");
  EXPECT_EQ(store->RestoreKernel("c", kernel).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->GetRecord("a")->time_ns(), 100);
  EXPECT_EQ(store->GetRecord("c").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace mdh::store_place_test

// How writes become transactions, and copies files.
#include "server/store/sqlite/sqlite_writer.h"

#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/temporary_directory.h"

namespace mdh::sqlite_writer_test {
namespace {

using ::testing::SizeIs;

TEST(SqliteWriterTest, WritesThatWaitShareATransaction) {
  TemporaryDirectory directory;
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = directory.File("mdhd.sqlite")});
  constexpr int kThreads = 16;
  constexpr int kWrites = 50;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int n = 0; n < kWrites; ++n) {
        // Every fifth fails, alone.
        v1::TuningRecord record;
        record.mutable_key()->set_expression_digest(absl::StrCat(thread, "-", n));
        record.set_name(n % 5 == 0 ? "nonsense" : RecordName(record.key().expression_digest()));
        EXPECT_EQ(store->PutResult(record, v1::Kernel()).ok(), n % 5 != 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(*store->AllRecords(), SizeIs(kThreads * kWrites * 4 / 5));
  EXPECT_EQ(store->LatestChange(), kThreads * kWrites * 4 / 5);
  v1::Statistics statistics;
  ASSERT_TRUE(store->Count(statistics).ok());
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
}  // namespace mdh::sqlite_writer_test

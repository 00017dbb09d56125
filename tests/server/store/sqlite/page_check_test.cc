// A database that is used while its pages are checked.
#include <sqlite3.h>

#include <fstream>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/temporary_directory.h"

namespace mdh::page_check_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class PageCheckTest : public ::testing::Test {
 protected:
  PageCheckTest() {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
    EXPECT_EQ(CheckOf(*store).state(), v1::PAGE_CHECK_STATE_PASSED);
    for (int n = 0; n < 20; ++n) EXPECT_TRUE(Put(*store, n).ok());
  }
  static Status Put(Store& store, int n) {
    v1::TuningRecord record;
    record.set_name(RecordName(absl::StrCat(n)));
    record.mutable_key()->set_expression_digest(absl::StrCat(n));
    record.set_time_ns(1);
    v1::Kernel kernel;
    kernel.set_source(std::string(20'000, 's'));
    return store.PutResult(record, kernel).status();
  }
  static v1::PageCheck CheckOf(Store& store) {
    v1::Statistics statistics;
    EXPECT_TRUE(store.Count(statistics).ok());
    return statistics.page_check();
  }
  // After the check.
  static v1::PageCheck EndOf(Store& store) {
    v1::PageCheck check = CheckOf(store);
    for (int n = 0; n < 500 && check.state() == v1::PAGE_CHECK_STATE_RUNNING; ++n) {
      absl::SleepFor(absl::Milliseconds(10));
      check = CheckOf(store);
    }
    return check;
  }
  Result<std::unique_ptr<Store>> OpenLarge() const {
    return OpenSqliteStore({.path = path_, .max_checked_bytes = 1});
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.File("mdhd.sqlite");
};

TEST_F(PageCheckTest, ALargeDatabaseIsCheckedWhileItIsUsed) {
  const std::unique_ptr<Store> store = *OpenLarge();
  EXPECT_THAT(*store->AllRecords(), SizeIs(20));
  EXPECT_TRUE(Put(*store, 20).ok());
  const v1::PageCheck check = EndOf(*store);
  EXPECT_EQ(check.state(), v1::PAGE_CHECK_STATE_PASSED) << check.problem();
  EXPECT_GT(check.total_bytes(), 20 * 20'000);
  // As far as the system counts them.
  if (check.read_bytes() > 0) {
    EXPECT_GT(check.read_bytes(), check.total_bytes() / 2);
  }
  EXPECT_TRUE(store->CheckWritable().ok());
}

TEST_F(PageCheckTest, WhatIsDamagedIsNotWrittenAnyMore) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  int64_t page = 0;
  const auto take = [](void* to, int, char** values, char**) {
    *static_cast<int64_t*>(to) = std::stoll(values[0]);
    return 0;
  };
  ASSERT_EQ(sqlite3_exec(database, "SELECT rootpage FROM sqlite_schema WHERE name = 'kernels'",
                         take, &page, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp((page - 1) * 4096);
  file << std::string(4096, 'x');
  file.close();

  EXPECT_THAT(std::string(OpenSqliteStore({.path = path_}).status().message()),
              HasSubstr("damaged"));
  const Result<std::unique_ptr<Store>> store = OpenLarge();
  ASSERT_TRUE(store.ok()) << store.status();
  const v1::PageCheck check = EndOf(**store);
  EXPECT_EQ(check.state(), v1::PAGE_CHECK_STATE_FAILED);
  EXPECT_NE(check.problem(), "");
  // Told after the result.
  for (int n = 0; n < 500 && (*store)->CheckWritable().ok(); ++n) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  const Status why = (*store)->CheckWritable();
  EXPECT_EQ(why.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(why.message()), HasSubstr("restore a backup"));
  EXPECT_EQ(Put(**store, 21), why);
  EXPECT_THAT(*(*store)->AllRecords(), SizeIs(20));
  v1::Statistics statistics;
  ASSERT_TRUE((*store)->Count(statistics).ok());
  EXPECT_EQ(statistics.storage_problem(), why.message());
}

TEST_F(PageCheckTest, ADaemonThatStopsDoesNotWaitForTheCheck) {
  for (int n = 0; n < 20; ++n) EXPECT_TRUE(OpenLarge().ok());
}

}  // namespace
}  // namespace mdh::page_check_test

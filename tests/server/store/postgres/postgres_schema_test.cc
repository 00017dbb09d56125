// Which databases of a PostgreSQL server are opened.
#include "server/store/postgres/postgres_schema.h"

#include <atomic>
#include <thread>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/store/postgres_test.h"

namespace mdh::postgres_schema_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class PostgresSchemaTest : public PostgresTest {};

TEST_F(PostgresSchemaTest, ManyDaemonsMayStartAtOnceOnAnEmptyDatabase) {
  constexpr int kDaemons = 6;
  std::vector<std::unique_ptr<Store>> stores(kDaemons);
  std::vector<std::thread> threads;
  for (int n = 0; n < kDaemons; ++n) threads.emplace_back([&, n] { stores[n] = Open(); });
  for (std::thread& thread : threads) thread.join();
  for (const std::unique_ptr<Store>& store : stores) {
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->schema_version(), PostgresSchemaVersion());
    EXPECT_EQ(store->incarnation(), stores[0]->incarnation());
    EXPECT_TRUE(store->CheckWritable().ok());
  }
  EXPECT_EQ(Number("SELECT count(*) FROM mdhd.store"), 1);
}

TEST_F(PostgresSchemaTest, OtherTablesInTheDatabaseAreLeftAlone) {
  RunSql("CREATE TABLE records (title text); INSERT INTO records VALUES ('a song')");
  Open();
  EXPECT_EQ(Number("SELECT count(*) FROM public.records"), 1);
}

TEST_F(PostgresSchemaTest, ASchemaOfAnotherApplicationIsRefusedAndUntouched) {
  RunSql("CREATE SCHEMA mdhd; CREATE TABLE mdhd.songs (title text)");
  EXPECT_THAT(Refusal(), HasSubstr("belongs to another application"));
  RunSql("CREATE TABLE mdhd.store (title text)");
  EXPECT_THAT(Refusal(), HasSubstr("belongs to another application"));
  RunSql(
      "DROP TABLE mdhd.store;"
      "CREATE TABLE mdhd.store (application text, schema_version int, readable_from int);"
      "INSERT INTO mdhd.store VALUES ('songs', 1, 1)");
  EXPECT_THAT(Refusal(), HasSubstr("belongs to another application"));
  EXPECT_EQ(Number("SELECT count(*) FROM pg_class WHERE relnamespace = 'mdhd'::regnamespace"
                   " AND relkind = 'r'"),
            2);
}

TEST_F(PostgresSchemaTest, AnEmptySchemaThatAnOperatorHasMadeIsUsed) {
  RunSql("CREATE SCHEMA mdhd");
  EXPECT_TRUE(Open()->CheckWritable().ok());
}

TEST_F(PostgresSchemaTest, ANewerSchemaIsRefusedUnlessItSaysThatThisOneCanUseIt) {
  Open();
  RunSql("UPDATE mdhd.store SET schema_version = 99, readable_from = 98");
  EXPECT_THAT(Refusal(), HasSubstr("has schema version 99"));
  RunSql("UPDATE mdhd.store SET readable_from = 1");
  EXPECT_NE(Open(), nullptr);
}

TEST_F(PostgresSchemaTest, AnOlderSchemaIsBroughtUpToDateAndOlderDaemonsGoOn) {
  Open();
  RunSql(
      "DROP TABLE mdhd.nodes, mdhd.helped_jobs, mdhd.helpers, mdhd.offered_trials;"
      "ALTER TABLE mdhd.records DROP COLUMN device_fingerprint;"
      "ALTER TABLE mdhd.jobs DROP COLUMN wanted_more;"
      "UPDATE mdhd.store SET schema_version = 1, readable_from = 1");
  const std::unique_ptr<Store> store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(*store->ListNodes(), SizeIs(0));
  EXPECT_EQ(Number("SELECT schema_version FROM mdhd.store"), PostgresSchemaVersion());
  EXPECT_EQ(Number("SELECT readable_from FROM mdhd.store"), 1);
}

// What more is wanted of a job is a column of which a daemon of before does not know: its job stays
// as it is, and who takes that over hears of it.
TEST_F(PostgresSchemaTest, WishesForMoreAreAddedToASchemaOfBeforeThem) {
  Open()->InsertJob(v1::TuningJob(), {"old", absl::Seconds(60)}).IgnoreError();
  RunSql(
      "ALTER TABLE mdhd.jobs DROP COLUMN wanted_more;"
      "UPDATE mdhd.store SET schema_version = 4, readable_from = 1");
  const std::unique_ptr<Store> store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number("SELECT readable_from FROM mdhd.store"), 1);
  const auto more = [](v1::TuningJob wanted) {
    wanted.add_awaited_jobs("tuningJobs/7");
    return wanted;
  };
  ASSERT_TRUE(store->WishMoreOfJob(1, more).ok());
  // As the daemon of before renews its lease and writes the job.
  RunSql(
      "UPDATE mdhd.jobs SET lease_until = clock_timestamp(), priority = 3 WHERE number = 1 AND"
      " epoch = 1");
  const auto taken = store->ClaimJobs({"new", absl::Seconds(60)}, {.number = 1});
  ASSERT_EQ(taken->size(), 1);
  v1::TuningJob wanted;
  ASSERT_TRUE(wanted.ParseFromString(taken->front().more));
  EXPECT_EQ(wanted.awaited_jobs(0), "tuningJobs/7");
}

// Which device a record is of is a column that it may lack.
TEST_F(PostgresSchemaTest, RecordsThatDoNotSayTheirDeviceAreReadWithThoseOfAnyDevice) {
  StoredResult result = SampleResult("a", 100);
  result.record.mutable_key()->set_device_fingerprint("cpu A");
  std::unique_ptr<Store> store = Open();
  ASSERT_TRUE(store->PutResult(result.record, result.kernel).ok());
  const auto count = [&] {
    std::atomic<int> records = 0;
    const auto take = [&](std::string_view) { ++records; };
    const Status read = store->ForEachRecord({"cpu B"}, take);
    EXPECT_TRUE(read.ok()) << read;
    return records.load();
  };
  EXPECT_EQ(count(), 0);
  RunSql("UPDATE mdhd.records SET device_fingerprint = NULL");
  EXPECT_EQ(count(), 1);
  RunSql("ALTER TABLE mdhd.records DROP COLUMN device_fingerprint");
  EXPECT_EQ(count(), 1);
}

TEST_F(PostgresSchemaTest, AnOlderSchemaThanAnyIsRefused) {
  Open();
  RunSql("UPDATE mdhd.store SET schema_version = 0");
  EXPECT_THAT(Refusal(), HasSubstr("which no mdhd has written"));
}

TEST_F(PostgresSchemaTest, WrongCredentialsAreRefusedAndNotShown) {
  const std::string open = address_;
  address_ = absl::StrReplaceAll(open, {{"//mdhd@", "//stranger:not%20right@"}});
  EXPECT_THAT(Refusal(), HasSubstr("password authentication failed"));
  EXPECT_THAT(Refusal(), Not(HasSubstr("not right")));
  EXPECT_THAT(Refusal(), Not(HasSubstr("not%20right")));
  address_ = absl::StrReplaceAll(open, {{"//mdhd@", "//nobody-there@"}});
  EXPECT_THAT(Refusal(), HasSubstr("does not exist"));
  // Who may log in and not make tables.
  address_ = absl::StrReplaceAll(open, {{"//mdhd@", "//stranger:right%20one@"}});
  EXPECT_THAT(Refusal(), HasSubstr("permission denied"));
  address_ =
      absl::StrCat(open.substr(0, open.find("test")), "nowhere", open.substr(open.find('?')));
  EXPECT_THAT(Refusal(), HasSubstr("\"nowhere\" does not exist"));
}

// As roles of front ends are, say.
TEST_F(PostgresSchemaTest, ARoleThatMayOnlyReadReads) {
  const std::unique_ptr<Store> store = Open();
  const StoredResult result = SampleResult("a", 100);
  ASSERT_TRUE(store->PutResult(result.record, result.kernel).ok());
  RunSql(
      "GRANT USAGE ON SCHEMA mdhd TO stranger;"
      "GRANT SELECT ON ALL TABLES IN SCHEMA mdhd TO stranger");
  address_ = absl::StrReplaceAll(address_, {{"//mdhd@", "//stranger:right%20one@"}});
  const std::unique_ptr<Store> reader = Open();
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(*reader->AllRecords(), SizeIs(1));
  EXPECT_EQ(reader->GetKernel("a")->source(), "of 100");
  const Status refused = reader->PutResult(result.record, result.kernel).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("permission denied"));
}

TEST_F(PostgresSchemaTest, AServerThatCannotBeWrittenIsReadAndSaysSo) {
  const StoredResult result = SampleResult("a", 100);
  const std::string database = address_.substr(address_.find("test"));
  const std::string name = database.substr(0, database.find('?'));
  RunSql(absl::StrCat("ALTER DATABASE ", name, " SET default_transaction_read_only = on"));
  EXPECT_THAT(Refusal(), HasSubstr("has no tables of mdhd and is read-only"));
  const auto set_read_only = [&](const char* to) {
    EXPECT_TRUE(server_
                    ->Sql("postgres", absl::StrCat("ALTER DATABASE ", name,
                                                   " SET default_transaction_read_only = ", to))
                    .ok());
  };
  set_read_only("off");
  ASSERT_TRUE(Open()->PutResult(result.record, result.kernel).ok());
  set_read_only("on");
  const std::unique_ptr<Store> store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(std::string(store->CheckWritable().message()), HasSubstr("is read-only"));
  EXPECT_THAT(*store->AllRecords(), SizeIs(1));
  EXPECT_EQ(store->GetKernel("a")->source(), "of 100");
  EXPECT_EQ(store->PutResult(result.record, result.kernel).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store->RemoveResult("a").status().code(), absl::StatusCode::kFailedPrecondition);
  v1::Statistics statistics;
  ASSERT_TRUE(store->Count(statistics).ok());
  EXPECT_THAT(statistics.storage_problem(), HasSubstr("is read-only"));
}

TEST_F(PostgresSchemaTest, AServerThatIsNotThereIsUnavailable) {
  address_ = "postgresql://mdhd@/mdhd?host=/nowhere/at/all";
  EXPECT_THAT(Refusal(absl::StatusCode::kUnavailable), HasSubstr("/nowhere/at/all"));
  address_ = "postgresql://mdhd@127.0.0.1:1/mdhd";
  EXPECT_THAT(Refusal(absl::StatusCode::kUnavailable), HasSubstr("refused"));
}

TEST_F(PostgresSchemaTest, BackupsAreMadeByPgDumpAndAnIncarnationIsNotRestored) {
  const std::unique_ptr<Store> store = Open();
  const Status backup = store->BackUp("/tmp/anywhere");
  EXPECT_EQ(backup.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(backup.message()), HasSubstr("pg_dump --schema=mdhd"));
  // A copy of all tables, as pg_restore makes one.
  const std::string first = address_;
  const std::string incarnation = store->incarnation();
  const std::string uuid =
      absl::StrCat("UPDATE mdhd.store SET incarnation = '00000000-0000-0000-0000-000000000001'");
  RunSql(uuid);
  const std::string original = Open()->incarnation();
  UseDatabaseOf(*server_);
  Open();
  RunSql(uuid);
  EXPECT_NE(Open()->incarnation(), original);
  EXPECT_NE(incarnation, original);
}

}  // namespace
}  // namespace mdh::postgres_schema_test

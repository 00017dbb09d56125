// A database that cannot be written: what is stored is served, everything else is refused.
#include <fstream>
#include <iterator>
#include <set>

#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "mdh/v1/admin.grpc.pb.h"
#include "mdh/v1/kernel.grpc.pb.h"
#include "mdh/v1/tuning.grpc.pb.h"
#include "proto/expression_conversion.h"
#include "server/daemon.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/read_only_folder.h"
#include "tests/server/run_sql.h"
#include "tests/server/temporary_directory.h"

namespace mdh::read_only_store_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

StoredResult SomeResult(const std::string& id) {
  StoredResult result;
  result.record.set_name(RecordName(id));
  result.record.mutable_key()->set_expression_digest(id);
  result.record.set_time_ns(100);
  result.kernel.set_source("source");
  return result;
}

class ReadOnlyStoreTest : public ::testing::TestWithParam<ReadOnlyWay> {
 protected:
  ReadOnlyStoreTest() {
    std::filesystem::create_directory(folder_);
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
    EXPECT_TRUE(store->PutResults({SomeResult("a"), SomeResult("b")}).ok());
  }
  // Skips the test where that is not possible.
  void SetUp() override {
    const ReadOnlyFolder tried(folder_, GetParam());
    if (tried.problem()) GTEST_SKIP() << *tried.problem();
  }
  void MakeReadOnly() {
    read_only_.emplace(folder_, GetParam());
    EXPECT_EQ(read_only_->problem(), std::nullopt);
  }
  std::set<std::string> Files() const {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      files.insert(entry.path().filename());
    }
    return files;
  }
  std::string Refusal() const {
    return std::string(OpenSqliteStore({.path = path_}).status().message());
  }

  const TemporaryDirectory directory_;
  const std::string folder_ = directory_.File("state #1?%41");  // a path is no address
  const std::string path_ = folder_ + "/mdhd.sqlite";
  std::optional<ReadOnlyFolder> read_only_;
};

TEST_P(ReadOnlyStoreTest, WhatIsStoredIsReadAndNothingIsWritten) {
  MakeReadOnly();
  const std::set<std::string> files = Files();
  const Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = path_});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(*(*store)->AllRecords(), SizeIs(2));
  EXPECT_EQ((*store)->GetKernel("a")->source(), "source");
  EXPECT_EQ((*store)->LatestChange(), 2);

  const Status why = (*store)->CheckWritable();
  EXPECT_EQ(why.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(why.message()), HasSubstr("read-only"));
  const StoredResult more = SomeResult("c");
  EXPECT_EQ((*store)->PutResult(more.record, more.kernel).status(), why);
  EXPECT_EQ((*store)->InsertJob(v1::TuningJob()).status(), why);
  EXPECT_EQ((*store)->RemoveResult("a").status(), why);
  const Result<std::unique_ptr<StudyStore>> studies = (*store)->OpenStudies();
  ASSERT_TRUE(studies.ok()) << studies.status();
  EXPECT_THAT(*(*studies)->ListStudies(0, 10, 1'000), IsEmpty());
  EXPECT_EQ((*studies)->InsertStudy(v1::Study()).status(), why);

  v1::Statistics statistics;
  ASSERT_TRUE((*store)->Count(statistics).ok());
  EXPECT_EQ(statistics.storage_problem(), why.message());
  EXPECT_EQ(statistics.records(), 2);
  EXPECT_THAT(*(*store)->CheckIntegrity(), IsEmpty());
  EXPECT_TRUE(OpenSqliteStore({.path = path_}).ok());  // another reader
  EXPECT_EQ(Files(), files);
}

TEST_P(ReadOnlyStoreTest, ARecordThatCannotBeReadIsLeftOut) {
  RunSql(path_, "UPDATE records SET record = x'ffff' WHERE id = 'a'");
  MakeReadOnly();
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path_});
  EXPECT_THAT(*store->AllRecords(), SizeIs(1));
  EXPECT_THAT(*store->CheckIntegrity(), SizeIs(2));  // unreadable, and not what was written
}

TEST_P(ReadOnlyStoreTest, WhatAKilledProcessLeftIsReadIfItsIndexIsThere) {
  // A copy of the files while they are used is what a killed process leaves.
  const std::string used = directory_.File("used.sqlite");
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = used});
    ASSERT_TRUE(store->PutResults({SomeResult("only in the log")}).ok());
    for (const char* part : {"", "-wal", "-shm"}) {
      std::filesystem::copy_file(used + part, path_ + part,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  {
    MakeReadOnly();
    const Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = path_});
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_THAT(*(*store)->AllRecords(), SizeIs(1));
  }
  read_only_.reset();
  std::filesystem::remove(path_ + "-shm");
  MakeReadOnly();
  EXPECT_THAT(Refusal(), HasSubstr("-wal that must be taken over first"));
}

TEST_P(ReadOnlyStoreTest, WhatWouldHaveToBeWrittenFirstIsRefused) {
  RunSql(path_, "PRAGMA user_version = 3");
  MakeReadOnly();
  EXPECT_THAT(Refusal(), HasSubstr("schema version 3 and cannot be brought up to date"));
  read_only_.reset();
  for (const auto& file : Files()) std::filesystem::remove(folder_ + "/" + file);
  MakeReadOnly();
  EXPECT_THAT(Refusal(), HasSubstr("cannot be opened"));
}

TEST_P(ReadOnlyStoreTest, ADaemonServesLookupsAndSaysThatItCannotWrite) {
  MakeReadOnly();
  const std::string address = absl::StrCat("unix:", std::filesystem::temp_directory_path().string(),
                                           "/mdh-read-only-", getpid());
  DaemonOptions options;
  options.listen = {address};
  options.database = path_;
  options.runner = "/no/runner";
  StartFailure failure = StartFailure::kInternal;
  const Result<std::unique_ptr<Daemon>> daemon = Daemon::Start(options, failure);
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  const auto call = [](auto&& method) {
    grpc::ClientContext context;
    return method(&context);
  };
  v1::GetStatisticsResponse statistics;
  ASSERT_TRUE(call([&](grpc::ClientContext* context) {
                return v1::AdminService::NewStub(channel)->GetStatistics(context, {}, &statistics);
              }).ok());
  EXPECT_THAT(statistics.statistics().storage_problem(), HasSubstr("read-only"));

  v1::LookupKernelRequest lookup;
  lookup.mutable_key()->set_expression_digest("a");
  v1::LookupKernelResponse found;
  const grpc::Status missed = call([&](grpc::ClientContext* context) {
    return v1::KernelService::NewStub(channel)->LookupKernel(context, lookup, &found);
  });
  // It is there, for a device without a name.
  EXPECT_THAT(missed.error_message(), HasSubstr("1 for other devices"));

  grpc::health::v1::HealthCheckRequest check;
  check.set_service("mdh.v1.TuningService");
  grpc::health::v1::HealthCheckResponse health;
  ASSERT_TRUE(call([&](grpc::ClientContext* context) {
                return grpc::health::v1::Health::NewStub(channel)->Check(context, check, &health);
              }).ok());
  EXPECT_EQ(health.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  (*daemon)->Stop();
}

INSTANTIATE_TEST_SUITE_P(, ReadOnlyStoreTest,
                         ::testing::Values(ReadOnlyWay::kPermissions, ReadOnlyWay::kMount),
                         [](const auto& info) {
                           return info.param == ReadOnlyWay::kMount ? "Mount" : "Permissions";
                         });

// A file system of its own, without room for anything more.
TEST(FullDiskTest, WhatIsStoredIsServedUntilThereIsRoom) {
  const TemporaryDirectory directory;
  const std::string folder = directory.path().string();
  // Where only this thread sees it.
  const bool is_mounted = unshare(CLONE_NEWNS) == 0 &&
                          mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          mount("none", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
  if (!is_mounted) GTEST_SKIP() << "this system does not allow it: " << std::strerror(errno);
  const std::string path = directory.File("mdhd.sqlite");
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
    ASSERT_TRUE(store->PutResults({SomeResult("a")}).ok());
  }
  {
    std::ofstream filler(directory.File("filler"));
    const std::string kilobyte(1024, 'x');
    while (filler.write(kilobyte.data(), std::ssize(kilobyte)) && filler.flush()) {
    }
  }
  {
    const Result<std::unique_ptr<Store>> store = OpenSqliteStore({.path = path});
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->GetKernel("a")->source(), "source");
    const Status why = (*store)->CheckWritable();
    EXPECT_EQ(why.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(why.message()), HasSubstr("the disk is full"));
    EXPECT_EQ((*store)->InsertJob(v1::TuningJob()).status(), why);
  }
  std::filesystem::remove(directory.File("filler"));
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore({.path = path});
    EXPECT_TRUE(store->CheckWritable().ok());
    EXPECT_TRUE(store->PutResults({SomeResult("b")}).ok());
  }
  umount2(folder.c_str(), MNT_DETACH);
}

TEST(SharedStoreTest, ReadersAndAWriterDoNotUseItAtTheSameTime) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sqlite");
  std::unique_ptr<Store> writer = *OpenSqliteStore({.path = path});
  const SqliteStoreOptions only_read = {.path = path, .is_read_only = true};
  EXPECT_THAT(std::string(OpenSqliteStore(only_read).status().message()), HasSubstr("in use"));
  writer.reset();
  const std::unique_ptr<Store> reader = *OpenSqliteStore(only_read);
  EXPECT_TRUE(OpenSqliteStore(only_read).ok());
  EXPECT_THAT(std::string(OpenSqliteStore({.path = path}).status().message()), HasSubstr("in use"));
}

}  // namespace
}  // namespace mdh::read_only_store_test

// A store whose PostgreSQL server goes away, comes back, or is another one.
#include <atomic>
#include <thread>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"
#include "tests/server/eventually.h"
#include "tests/server/store/postgres_test.h"

namespace mdh::postgres_outage_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// On a server of their own, which is killed.
class PostgresOutageTest : public PostgresTest {
 protected:
  static void SetUpTestSuite() {
    Result<std::unique_ptr<PostgresServer>> own = PostgresServer::Start();
    if (own.ok()) own_ = *std::move(own);
  }
  static void TearDownTestSuite() { own_.reset(); }
  void SetUp() override {
    PostgresTest::SetUp();
    if (address_.empty()) return;
    ASSERT_NE(own_, nullptr);
    UseDatabaseOf(*own_);
    store_ = Open();
    ASSERT_NE(store_, nullptr);
  }
  Status Put(const std::string& id, int64_t time_ns = 100) {
    const StoredResult result = SampleResult(id, time_ns);
    return store_->PutResult(result.record, result.kernel).status();
  }

  static inline std::unique_ptr<PostgresServer> own_;
  std::unique_ptr<Store> store_;
};

TEST_F(PostgresOutageTest, CallsFailSoonWhileTheServerIsGoneAndGoOnAfterwards) {
  store_ = *OpenPostgresStore({.address = address_, .patience = absl::Milliseconds(300)});
  for (const int signal : {SIGINT, SIGQUIT, SIGKILL}) {
    ASSERT_TRUE(Put(absl::StrCat("before ", signal)).ok());
    own_->End(signal);
    const absl::Time begin = absl::Now();
    const Status refused = Put("meanwhile");
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
    EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(refused).has_value());
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
    v1::Statistics statistics;
    EXPECT_EQ(store_->Count(statistics).code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(statistics.storage_problem(), HasSubstr("postgresql://"));
    ASSERT_TRUE(own_->Resume().ok());
    EXPECT_TRUE(store_->GetRecord(absl::StrCat("before ", signal)).ok());
    ASSERT_TRUE(Put(absl::StrCat("after ", signal)).ok());
  }
  EXPECT_THAT(*store_->CheckIntegrity(), IsEmpty());
}

TEST_F(PostgresOutageTest, TheAgeOfWhatIsKnownGrowsWhileTheServerIsGone) {
  EXPECT_LT(store_->age(), absl::Seconds(3));
  own_->End(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return store_->age() > absl::Seconds(3); }));
  ASSERT_TRUE(own_->Resume().ok());
  EXPECT_TRUE(Eventually([&] { return store_->age() < absl::Seconds(2); }));
}

TEST_F(PostgresOutageTest, AShortOutageIsWaitedFor) {
  ASSERT_TRUE(Put("a").ok());
  own_->End(SIGINT);
  std::thread client([&] { EXPECT_EQ(Put("b"), absl::OkStatus()); });
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_TRUE(own_->Resume().ok());
  client.join();
}

TEST_F(PostgresOutageTest, WhatIsAcknowledgedSurvivesCrashesAndChangesHaveNoGaps) {
  std::atomic<bool> is_over = false;
  std::atomic<int> stored = 0;
  std::vector<std::thread> writers;
  for (int n = 0; n < 4; ++n) {
    writers.emplace_back([&, n] {
      for (int put = 0; !is_over; ++put) {
        // Until it is acknowledged.
        while (!Put(absl::StrCat(n, "-", put)).ok() && !is_over) continue;
        if (!is_over) ++stored;
      }
    });
  }
  for (int crash = 0; crash < 3; ++crash) {
    const int before = stored;
    EXPECT_TRUE(Eventually([&] { return stored > before + 20; }));
    own_->End(crash == 1 ? SIGKILL : SIGQUIT);
    ASSERT_TRUE(own_->Resume().ok());
  }
  const int before = stored;
  EXPECT_TRUE(Eventually([&] { return stored > before + 20; }));
  is_over = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_GE(store_->AllRecords()->size(), static_cast<size_t>(stored));
  EXPECT_EQ(Number("SELECT count(*) - max(number) FROM mdhd.changes"), 0);
  EXPECT_THAT(*store_->CheckIntegrity(), IsEmpty());
}

// As when it has become a standby of another one.
TEST_F(PostgresOutageTest, AServerThatIsReadOnlyByNowStillSaysWhichDaemonsThereAre) {
  v1::Node node;
  node.set_name("nodes/w1");
  ASSERT_TRUE(store_->AnnounceNode(node, absl::Hours(1)).ok());
  const std::string database = address_.substr(address_.find("test"));
  const std::string name = database.substr(0, database.find('?'));
  const auto set_read_only = [&](const char* to) {
    EXPECT_TRUE(own_->Sql("postgres", absl::StrCat("ALTER DATABASE ", name,
                                                   " SET default_transaction_read_only = ", to))
                    .ok());
  };
  set_read_only("on");
  own_->End(SIGINT);
  ASSERT_TRUE(own_->Resume().ok());
  EXPECT_THAT(*store_->ListNodes(), SizeIs(1));
  EXPECT_EQ(store_->AnnounceNode(node, absl::Hours(1)).code(), absl::StatusCode::kUnavailable);
  // What others write where they can is seen.
  const std::string writable = address_ + "&options=-cdefault_transaction_read_only%3Doff";
  ASSERT_TRUE(PostgresServer::SqlAt(writable, "DELETE FROM mdhd.nodes").ok());
  EXPECT_THAT(*store_->ListNodes(), IsEmpty());
  set_read_only("off");
  EXPECT_TRUE(Eventually([&] { return store_->AnnounceNode(node, absl::Hours(1)).ok(); }));
}

TEST_F(PostgresOutageTest, AFollowerGoesOnWhereItWas) {
  const std::unique_ptr<Store> other = Open();
  std::atomic<int> heard = 0;
  other->SetListener([&](v1::KernelChangeKind, const v1::TuningRecord&) { ++heard; });
  ASSERT_TRUE(Put("a").ok());
  own_->End(SIGKILL);
  ASSERT_TRUE(own_->Resume().ok());
  ASSERT_TRUE(Put("b").ok());
  EXPECT_TRUE(other->WaitForChange(1, absl::Seconds(10)));
  EXPECT_EQ(heard, 2);
  EXPECT_TRUE(Eventually([&] {
    v1::Statistics statistics;
    return other->Count(statistics).ok() && statistics.storage_problem().empty();
  }));
}

TEST_F(PostgresOutageTest, ADatabaseThatIsAnotherOneThanBeforeIsNotWritten) {
  ASSERT_TRUE(Put("a").ok());
  RunSql("UPDATE mdhd.store SET incarnation = gen_random_uuid()");
  own_->End(SIGINT);
  ASSERT_TRUE(own_->Resume().ok());
  EXPECT_TRUE(Eventually([&] { return !store_->CheckWritable().ok(); }));
  EXPECT_THAT(std::string(store_->CheckWritable().message()),
              HasSubstr("is another one than when mdhd was started"));
  EXPECT_EQ(Put("b").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(store_->GetRecord("a").ok());
  v1::Statistics statistics;
  EXPECT_EQ(store_->Count(statistics), absl::OkStatus());
  EXPECT_THAT(statistics.storage_problem(), HasSubstr("is another one"));
  store_ = Open();
  EXPECT_TRUE(Put("b").ok());
}

TEST_F(PostgresOutageTest, ADatabaseThatIsOlderThanBeforeIsNotWritten) {
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(Put(id).ok());
  own_->End(SIGINT);
  ASSERT_TRUE(own_->Resume().ok());
  // Before the store is connected again, or after it.
  RunSql("UPDATE mdhd.store SET last_change = 1; DELETE FROM mdhd.changes WHERE number > 1");
  own_->End(SIGINT);
  ASSERT_TRUE(own_->Resume().ok());
  EXPECT_TRUE(Eventually([&] { return !store_->CheckWritable().ok(); }));
  EXPECT_THAT(std::string(store_->CheckWritable().message()), HasSubstr("is older than it was"));
}

TEST_F(PostgresOutageTest, WhoMissedForgottenChangesSaysSo) {
  ASSERT_TRUE(Put("a").ok());
  // As if others had made many, and forgotten most of them, while this one was cut off.
  RunSql(
      "UPDATE mdhd.store SET last_change = 100;"
      "INSERT INTO mdhd.changes (number, kind, id, expression_digest) VALUES (100, 1, 'a', '')");
  EXPECT_TRUE(Eventually([&] { return !store_->CheckWritable().ok(); }));
  EXPECT_THAT(std::string(store_->CheckWritable().message()),
              HasSubstr("changes 2 to 99 of the records are forgotten"));
}

TEST_F(PostgresOutageTest, ChangesAreForgottenButNotThoseThatNobodyHasSeen) {
  store_ = *OpenPostgresStore({.address = address_, .remembered_changes = 3});
  std::vector<StoredResult> results;
  for (int n = 0; n < 10; ++n) results.push_back(SampleResult(absl::StrCat(n), 100));
  ASSERT_TRUE(store_->PutResults(results).ok());
  EXPECT_THAT(*store_->ChangesAfter(0, 100), SizeIs(10));
  ASSERT_TRUE(Put("a").ok());
  EXPECT_EQ(store_->ChangesAfter(6, 100).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(*store_->ChangesAfter(7, 100), SizeIs(4));
}

TEST_F(PostgresOutageTest, KernelsThatWereReadAreGivenWithoutTheServer) {
  for (const char* id : {"a", "b"}) ASSERT_TRUE(Put(id).ok());
  ASSERT_TRUE(store_->GetKernel("a").ok());
  ASSERT_TRUE(store_->GetKernel("b").ok());
  ASSERT_TRUE(Put("b", 50).ok());
  own_->End(SIGKILL);
  EXPECT_EQ(store_->GetKernel("a")->source(), "of 100");
  // What was read of it is not its kernel any more.
  EXPECT_EQ(store_->GetKernel("b").status().code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(own_->Resume().ok());
  EXPECT_EQ(store_->GetKernel("b")->source(), "of 50");
}

TEST_F(PostgresOutageTest, TwoDaemonsOfOneNameAreRefused) {
  const PostgresStoreOptions options = {.address = address_, .daemon_name = "worker 1"};
  std::unique_ptr<Store> first = *OpenPostgresStore(options);
  EXPECT_TRUE(OpenPostgresStore({.address = address_, .daemon_name = "worker 2"}).ok());
  const Status refused = OpenPostgresStore({.address = address_,
                                            .daemon_name = "worker 1",
                                            .name_patience = absl::Milliseconds(100)})
                             .status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is called worker 1: give each"));
  // One that has just ended, as the server will know soon, is waited for.
  std::thread ending([&] {
    absl::SleepFor(absl::Milliseconds(200));
    first.reset();
  });
  EXPECT_TRUE(OpenPostgresStore(options).ok());
  ending.join();
}

TEST_F(PostgresOutageTest, AServerThatDoesNotAnswerHangsNothingThatNeedsItNot) {
  ASSERT_TRUE(Put("a").ok());
  own_->Signal(SIGSTOP);
  const absl::Time begin = absl::Now();
  EXPECT_EQ(store_->LatestChange(), 1);
  EXPECT_TRUE(store_->CheckWritable().ok());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  own_->Signal(SIGCONT);
  EXPECT_TRUE(Put("b").ok());
}

}  // namespace
}  // namespace mdh::postgres_outage_test

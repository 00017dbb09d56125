// The board of trials on a PostgreSQL server: what is its own, and what becomes of it.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/postgres/postgres_schema.h"
#include "tests/server/eventually.h"
#include "tests/server/store/postgres_test.h"

namespace mdh::postgres_board_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Hours(1);

class PostgresBoardTest : public PostgresTest {
 protected:
  static JobClaim Insert(Store& store, absl::Duration lease = kLong) {
    return store.InsertJob(JobIn(v1::TUNING_JOB_STATE_RUNNING), {"a", lease})->claim;
  }
  static HelpedJob AskingFor(const JobClaim& claim) {
    return {claim.number, claim.epoch, "a", "a CPU", "a problem", absl::ZeroDuration()};
  }
};

// What was on it is lost with a crash of the server, and announced again.
TEST_F(PostgresBoardTest, ACrashOfTheServerEmptiesIt) {
  if (server_ == nullptr) return;
  const std::unique_ptr<PostgresServer> own = *PostgresServer::Start();
  UseDatabaseOf(*own);
  const auto store = *OpenPostgresStore({.address = address_, .patience = absl::Milliseconds(300)});
  const std::shared_ptr<TrialBoard> board = *store->OpenTrialBoard();
  const JobClaim claim = Insert(*store);
  ASSERT_TRUE(board->Announce(AskingFor(claim)).ok());
  const int64_t seat = *board->Join(AskingFor(claim), "b", kLong);
  const std::unique_ptr<BoardWatch> watch = *board->WatchJob(claim.number);
  own->End(SIGQUIT);
  EXPECT_TRUE(absl::IsUnavailable(board->Trade(claim, {}, {}).status()));
  EXPECT_TRUE(absl::IsUnavailable(board->Exchange(seat, kLong, {}, {}, 1).status()));
  EXPECT_TRUE(absl::IsUnavailable(board->Find("a CPU").status()));
  EXPECT_TRUE(absl::IsUnavailable(board->Announce(AskingFor(claim))));
  watch->Wait(absl::Milliseconds(10));
  ASSERT_TRUE(own->Resume().ok());
  EXPECT_TRUE(absl::IsNotFound(board->Trade(claim, {}, {}).status()));
  EXPECT_TRUE(absl::IsAborted(board->Exchange(seat, kLong, {}, {}, 1).status()));
  ASSERT_TRUE(board->Announce(AskingFor(claim)).ok());
  for (int n = 0; n < 10; ++n) watch->Wait(absl::Milliseconds(10));
  const absl::Time start = absl::Now();
  ASSERT_TRUE(board->Join(AskingFor(claim), "b", kLong).ok());
  watch->Wait(kLong);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_THAT(board->Trade(claim, {}, {})->helpers, SizeIs(1));
}

TEST_F(PostgresBoardTest, AnOwnerThatIsGivenUpIsNotHelped) {
  const std::unique_ptr<Store> store = Open();
  const std::shared_ptr<TrialBoard> board = *store->OpenTrialBoard();
  const JobClaim claim = Insert(*store, absl::Milliseconds(300));
  ASSERT_TRUE(board->Announce(AskingFor(claim)).ok());
  const int64_t seat = *board->Join(AskingFor(claim), "b", kLong);
  EXPECT_TRUE(Eventually(
      [&] { return absl::IsAborted(board->Exchange(seat, kLong, {}, {}, 1).status()); }));
  EXPECT_THAT(*board->Find("a CPU"), IsEmpty());
  EXPECT_TRUE(absl::IsAborted(board->Join(AskingFor(claim), "c", kLong).status()));
}

TEST_F(PostgresBoardTest, TwoStoresHaveOneBoard) {
  const std::unique_ptr<Store> here = Open(), there = Open();
  const std::shared_ptr<TrialBoard> one = *here->OpenTrialBoard(), other = *there->OpenTrialBoard();
  const JobClaim claim = Insert(*here);
  ASSERT_TRUE(one->Announce(AskingFor(claim)).ok());
  ASSERT_THAT(*other->Find("a CPU"), SizeIs(1));
  const int64_t seat = *other->Join(AskingFor(claim), "b", kLong);
  const std::vector<OfferedTrial> offers = {{seat, 1, "parameters", "digest", "options"}};
  ASSERT_TRUE(one->Trade(claim, offers, {}).ok());
  EXPECT_THAT(*other->Exchange(seat, kLong, {}, {}, 1), SizeIs(1));
}

// Who died has left something behind; rows are gone with what they are for.
TEST_F(PostgresBoardTest, WhatTheDeadLeaveIsSweptUp) {
  const std::unique_ptr<Store> store = Open();
  const std::shared_ptr<TrialBoard> board = *store->OpenTrialBoard();
  const JobClaim dead = Insert(*store);
  ASSERT_TRUE(board->Announce(AskingFor(dead)).ok());
  const int64_t seat = *board->Join(AskingFor(dead), "b", kLong);
  const std::vector<OfferedTrial> offers = {{seat, 1, "parameters", "digest", "options"}};
  ASSERT_TRUE(board->Trade(dead, offers, {}).ok());
  ASSERT_TRUE(store->UpdateJob(dead, JobIn(v1::TUNING_JOB_STATE_SUCCEEDED)).ok());
  const JobClaim next = Insert(*store);
  ASSERT_TRUE(board->Announce(AskingFor(next)).ok());
  EXPECT_EQ(Number("SELECT count(*) FROM mdhd.helped_jobs"), 1);
  EXPECT_EQ(Number("SELECT count(*) FROM mdhd.helpers"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM mdhd.offered_trials"), 0);
  ASSERT_TRUE(board->End(next).ok());
  EXPECT_EQ(Number("SELECT count(*) FROM mdhd.helped_jobs"), 0);
}

TEST_F(PostgresBoardTest, ADatabaseOfBeforeGetsIt) {
  Open().reset();
  RunSql(
      "DROP TABLE mdhd.helped_jobs, mdhd.helpers, mdhd.offered_trials;"
      "ALTER TABLE mdhd.records DROP COLUMN device_fingerprint;"
      "ALTER TABLE mdhd.jobs DROP COLUMN wanted_more;"
      "UPDATE mdhd.store SET schema_version = 2, readable_from = 1");
  const std::unique_ptr<Store> store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number("SELECT schema_version FROM mdhd.store"), PostgresSchemaVersion());
  // An mdhd of before goes on beside this one.
  EXPECT_EQ(Number("SELECT readable_from FROM mdhd.store"), 1);
  EXPECT_TRUE((*store->OpenTrialBoard())->Announce(AskingFor(Insert(*store))).ok());
}

}  // namespace
}  // namespace mdh::postgres_board_test

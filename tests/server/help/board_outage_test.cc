// Help among daemons whose store is away for a while.
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/help/board_double.h"
#include "tests/server/help/helping_daemon.h"
#include "tests/server/temporary_directory.h"

namespace mdh::board_outage_test {
namespace {

class BoardOutageTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  StoreWithBoard store_{*OpenSqliteStore({.path = directory_.File("mdhd.sqlite")})};
};

TEST_F(BoardOutageTest, WithoutABoardADaemonWorksAlone) {
  store_.board().is_gone = true;
  HelpingDaemon a(store_, {.name = "a"}), b(store_, {.name = "b"});
  const int64_t job = a.Create(64, 20);
  ASSERT_TRUE(a.Succeeds(job));
  EXPECT_EQ(a.figures().help_got, 0);
  EXPECT_EQ(b.device().problems, 0);
}

TEST_F(BoardOutageTest, AfterAnOutageHelpGoesOn) {
  HelpingDaemon a(store_, {.name = "a"}), b(store_, {.name = "b"});
  const int64_t job = a.Create(64, 100'000);
  ASSERT_TRUE(Eventually([&] { return a.figures().help_got > 3; }));
  store_.board().is_gone = true;
  // The owner goes on with what it has, and measures what its helper had.
  const int before = a.device().measured;
  EXPECT_TRUE(Eventually([&] { return a.device().measured > before + 5; }));
  store_.board().is_gone = false;
  const int64_t got = a.figures().help_got;
  EXPECT_TRUE(Eventually([&] { return a.figures().help_got > got + 3; }));
  ASSERT_TRUE(a.queue().Cancel(job).ok());
  ASSERT_TRUE(a.HasState(job, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_EQ(a.Get(job).progress().failed_trials(), 0);
}

// Whose seat is over when the store is back: its trials are measured by others.
TEST_F(BoardOutageTest, AfterALongOutageHelpersComeAnew) {
  const HelpingDaemonOptions options = {.name = "b", .seat_lease = absl::Milliseconds(100)};
  HelpingDaemon a(store_, {.name = "a"}), b(store_, options);
  const int64_t job = a.Create(64, 100'000);
  ASSERT_TRUE(Eventually([&] { return a.figures().help_got > 3; }));
  store_.board().is_gone = true;
  absl::SleepFor(absl::Milliseconds(300));
  store_.board().is_gone = false;
  const int64_t got = a.figures().help_got;
  EXPECT_TRUE(Eventually([&] { return a.figures().help_got > got + 3; }));
  EXPECT_GE(b.device().problems, 2);
  // An owner that ends meanwhile leaves its helpers to themselves.
  store_.board().is_gone = true;
  ASSERT_TRUE(a.queue().Cancel(job).ok());
  ASSERT_TRUE(a.HasState(job, v1::TUNING_JOB_STATE_CANCELLED));
  store_.board().is_gone = false;
  EXPECT_TRUE(Eventually([&] { return b.IsFree(); }));
}

}  // namespace
}  // namespace mdh::board_outage_test

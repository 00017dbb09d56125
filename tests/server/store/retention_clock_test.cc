#include "server/store/retention_clock.h"

#include "gtest/gtest.h"
#include "server/records/timestamp.h"
#include "server/services/housekeeper.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/temporary_directory.h"

namespace mdh::retention_clock_test {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

TEST(RetentionClock, BelievesWhatFollowsFromWhatIsStoredAndFromItsOwnAge) {
  const absl::Time stored = absl::FromUnixSeconds(1'000'000'000);
  int64_t uptime_ns = 5;
  const RetentionClock clock(stored, 30 * kDay, [&] { return uptime_ns; });
  EXPECT_TRUE(clock.Check(stored - 3650 * kDay).ok());
  EXPECT_TRUE(clock.Check(stored + 29 * kDay).ok());
  EXPECT_FALSE(clock.Check(stored + 31 * kDay).ok());
  EXPECT_FALSE(clock.Check(stored + 3 * 365 * kDay).ok());
  uptime_ns += absl::ToInt64Nanoseconds(10 * kDay);
  EXPECT_TRUE(clock.Check(stored + 39 * kDay).ok());
  EXPECT_FALSE(clock.Check(stored + 41 * kDay).ok());
  EXPECT_TRUE(RetentionClock(std::nullopt, kDay).Check(stored).ok());
}

// A daemon that was started under a clock of another year.
TEST(RetentionClock, AJumpOfTheClockDeletesNothing) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Store> store = *OpenSqliteStore({.path = directory.File("mdhd.sqlite")});
  const absl::Time ended = absl::FromUnixSeconds(1'700'000'000);
  v1::TuningJob job;
  job.set_state(v1::TUNING_JOB_STATE_SUCCEEDED);
  *job.mutable_create_time() = *job.mutable_end_time() = ToProto(ended);
  ASSERT_TRUE(store->InsertJob(job).ok());
  AdminOptions admin;
  admin.keep_jobs = 30 * kDay;
  admin.most_ended_jobs = 100;
  const auto keep_house_at = [&](absl::Time now) {
    HousekeeperOptions options;
    options.now = [now] { return now; };
    // It has looked once before it ends.
    EXPECT_TRUE(Housekeeper::Start(*store, admin, options).ok());
  };
  keep_house_at(ended + 3 * 365 * kDay);
  EXPECT_EQ(store->ListJobs(0, 10, {})->size(), 1u);
  // Newer jobs show that so much time went by.
  v1::TuningJob newer = job;
  *newer.mutable_create_time() = *newer.mutable_end_time() = ToProto(ended + 40 * kDay);
  ASSERT_TRUE(store->InsertJob(newer).ok());
  keep_house_at(ended + 41 * kDay);
  EXPECT_EQ(store->ListJobs(0, 10, {})->size(), 1u);
}

}  // namespace
}  // namespace mdh::retention_clock_test

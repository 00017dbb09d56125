#include "server/services/housekeeper.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/store/layers/forwarding_store.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/eventually.h"
#include "tests/server/temporary_directory.h"

namespace mdh::housekeeper_test {
namespace {

// Has very much to forget, and others who want something of jobs.
class BusyStore : public ForwardingStore {
 public:
  explicit BusyStore(std::unique_ptr<Store> store) : ForwardingStore(std::move(store)) {}
  Result<v1::CollectGarbageResponse> Forget(const Retention& retention) override {
    may_forget.WaitForNotification();
    ++forgets;
    return ForwardingStore::Forget(retention);
  }
  void SetOnWish(const std::string& owner, std::function<void()> on_wish) override {
    wished_of = owner;
    wish = std::move(on_wish);
  }
  void SetOnNewJobs(std::function<void()> on_new_jobs) override {
    new_jobs = std::move(on_new_jobs);
  }

  Status CheckWritable() const override { return writable; }

  absl::Notification may_forget;
  std::atomic<int> forgets = 0;
  Status writable;
  std::string wished_of;
  std::function<void()> wish;
  std::function<void()> new_jobs;
};

class HousekeeperTest : public ::testing::Test {
 protected:
  std::unique_ptr<Housekeeper> Start(absl::Duration renew) {
    HousekeeperOptions options;
    options.renew = renew;
    options.owner = "one";
    options.renew_leases = [this] { ++renewals_; };
    return *Housekeeper::Start(store_, AdminOptions(), std::move(options));
  }

  const TemporaryDirectory directory_;
  BusyStore store_{*OpenSqliteStore({.path = directory_.File("mdhd.sqlite")})};
  std::atomic<int> renewals_ = 0;
};

TEST_F(HousekeeperTest, LeasesAreRenewedWhileMuchIsForgotten) {
  const auto keeper = Start(absl::Milliseconds(1));
  EXPECT_TRUE(Eventually([&] { return renewals_ > 3; }));
  store_.may_forget.Notify();
}

TEST_F(HousekeeperTest, WhatOthersWantOfJobsIsHeardAtOnce) {
  store_.may_forget.Notify();
  auto keeper = Start(absl::Hours(1));
  EXPECT_EQ(store_.wished_of, "one");
  EXPECT_TRUE(Eventually([&] { return renewals_ == 1; }));
  store_.wish();
  EXPECT_TRUE(Eventually([&] { return renewals_ == 2; }));
  keeper.reset();
  EXPECT_FALSE(store_.wish);
}

TEST_F(HousekeeperTest, NewJobsAreLookedForAtOnceAndAgainIfMoreComeMeanwhile) {
  store_.may_forget.Notify();
  std::atomic<int> looks = 0;
  HousekeeperOptions options;
  options.look = absl::Hours(1);
  options.looks = {[&] {
    if (++looks == 1) store_.new_jobs();
  }};
  auto keeper = *Housekeeper::Start(store_, AdminOptions(), std::move(options));
  ASSERT_TRUE(store_.new_jobs);
  store_.new_jobs();
  EXPECT_TRUE(Eventually([&] { return looks == 2; }));
  keeper.reset();
  EXPECT_FALSE(store_.new_jobs);
  EXPECT_EQ(looks, 2);
}

TEST_F(HousekeeperTest, OfWhatCannotBeWrittenNothingIsForgotten) {
  store_.may_forget.Notify();
  store_.writable = absl::FailedPreconditionError("read-only");
  auto keeper = Start(absl::Milliseconds(1));
  EXPECT_TRUE(Eventually([&] { return renewals_ > 3; }));
  keeper.reset();  // when each of its threads has done its work at least once
  EXPECT_EQ(store_.forgets, 0);
  store_.writable = absl::OkStatus();
  keeper = Start(absl::Hours(1));
  EXPECT_TRUE(Eventually([&] { return store_.forgets == 1; }));
}

}  // namespace
}  // namespace mdh::housekeeper_test

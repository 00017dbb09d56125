#include "server/access/call_limiter.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"

namespace mdh::call_limiter_test {
namespace {

using ::testing::HasSubstr;

class CallLimiterTest : public ::testing::Test {
 protected:
  // Of `count` requests at once, how many are let through.
  int Allowed(int count) {
    int allowed = 0;
    for (int n = 0; n < count; ++n) {
      if (limiter_.Count("ann", limits_, now_).ok()) ++allowed;
    }
    return allowed;
  }
  static std::string ReasonOf(const Status& error) {
    return DetailOf<google::rpc::ErrorInfo>(error)->reason();
  }

  CallLimiter limiter_;
  RoleLimits limits_ = {.requests_per_second = 10, .calls = 2, .watches = 1};
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
};

TEST_F(CallLimiterTest, RequestsAreLimitedOnAverage) {
  EXPECT_EQ(Allowed(25), 10) << "a second's worth at once";
  now_ += absl::Milliseconds(500);
  EXPECT_EQ(Allowed(25), 5);
  now_ += absl::Hours(1);
  EXPECT_EQ(Allowed(25), 10);
  EXPECT_TRUE(limiter_.Count("bob", limits_, now_).ok()) << "others have their own share";
  limits_.requests_per_second = 0;
  EXPECT_EQ(Allowed(1000), 1000);
}

TEST_F(CallLimiterTest, ARefusalSaysWhoAndWhenToTryAgain) {
  Allowed(10);
  const Status refused = limiter_.Count("ann", limits_, now_);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("more than 10 requests a second"));
  EXPECT_EQ(ReasonOf(refused), "RATE_LIMIT");
  EXPECT_EQ(DetailOf<google::rpc::QuotaFailure>(refused)->violations(0).subject(), "caller:ann");
  EXPECT_EQ(DetailOf<google::rpc::RetryInfo>(refused)->retry_delay().nanos(), 100'000'000);
}

TEST_F(CallLimiterTest, OpenCallsAndWatchesAreCountedApart) {
  limits_.requests_per_second = 0;
  const auto enter = [&](CallKind kind) { return limiter_.Enter("ann", limits_, kind, now_); };
  std::vector<CallLimiter::Slot> open;
  for (const CallKind kind : {CallKind::kCall, CallKind::kCall, CallKind::kWatch}) {
    open.push_back(*enter(kind));
  }
  EXPECT_EQ(ReasonOf(enter(CallKind::kCall).status()), "CALL_QUOTA");
  EXPECT_EQ(ReasonOf(enter(CallKind::kWatch).status()), "WATCH_QUOTA");
  EXPECT_TRUE(limiter_.Enter("bob", limits_, CallKind::kCall, now_).ok());
  open.pop_back();
  EXPECT_TRUE(enter(CallKind::kWatch).ok());
  open.clear();
  EXPECT_TRUE(enter(CallKind::kCall).ok());
}

TEST_F(CallLimiterTest, WithoutLimitsNothingIsKept) {
  EXPECT_TRUE(limiter_.Enter("ann", RoleLimits(), CallKind::kCall, now_).ok());
  EXPECT_TRUE(limiter_.Count("ann", RoleLimits(), now_).ok());
  EXPECT_EQ(limiter_.callers(), 0U);
}

TEST_F(CallLimiterTest, ManyCallersShareWhatIsLeft) {
  const auto count = [&](int from, int to) {
    for (int n = from; n < to; ++n) {
      limiter_.Count(absl::StrCat("address", n), limits_, now_).IgnoreError();
    }
  };
  const int most = static_cast<int>(CallLimiter::kMaxCallers);
  const CallLimiter::Slot open = *limiter_.Enter("ann", limits_, CallKind::kCall, now_);
  count(0, most + 100);
  EXPECT_EQ(limiter_.callers(), CallLimiter::kMaxCallers + 1);
  const Status refused = limiter_.Count("one more", limits_, now_);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("others makes more than"));
  now_ += absl::Seconds(10);
  count(0, 1);
  count(most + 200, most + 201);
  EXPECT_LE(limiter_.callers(), 3U) << "those that are idle are forgotten, ann is not";
}

TEST(LimitTableTest, LimitsAreSetByName) {
  LimitTable table;
  EXPECT_EQ(table.of(Role::kAdmin), RoleLimits());
  EXPECT_GT(table.of(Role::kReader).requests_per_second, 0);
  for (const char* setting :
       {"requests_per_second=1", "calls=2", "watches=3", "queued_jobs=4", "device_time_s=5"}) {
    EXPECT_TRUE(table.Set(Role::kTuner, setting).ok()) << setting;
  }
  const RoleLimits expected = {
      .requests_per_second = 1, .calls = 2, .watches = 3, .queued_jobs = 4, .device_time_s = 5};
  EXPECT_EQ(table.of(Role::kTuner), expected);
  for (const char* setting : {"calls", "calls=", "calls=-1", "calls=many", "speed=1", "=1", ""}) {
    EXPECT_EQ(table.Set(Role::kTuner, setting).code(), absl::StatusCode::kInvalidArgument)
        << setting;
  }
}

TEST(LimitDeviceTimeTest, JobsGetWhatTheirCallersMayUse) {
  const RoleLimits limits = {.device_time_s = 10};
  v1::TuningOptions options;
  EXPECT_TRUE(LimitDeviceTime(limits, "ann", options).ok());
  EXPECT_EQ(options.max_device_time_ns(), 10'000'000'000);
  options.set_max_device_time_ns(5);
  EXPECT_TRUE(LimitDeviceTime(limits, "ann", options).ok());
  EXPECT_EQ(options.max_device_time_ns(), 5);
  options.set_max_device_time_ns(11'000'000'000);
  const Status refused = LimitDeviceTime(limits, "ann", options);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(DetailOf<google::rpc::QuotaFailure>(refused)->violations(0).subject(), "source:ann");
  EXPECT_TRUE(LimitDeviceTime(RoleLimits(), "ann", options).ok());
}

}  // namespace
}  // namespace mdh::call_limiter_test

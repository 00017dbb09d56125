#include "server/jobs/tuning_request.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/devices/device_catalogue.h"
#include "server/records/resource_names.h"
#include "tests/server/matmul_expression.h"

namespace mdh::tuning_request_test {
namespace {

using ::testing::HasSubstr;

TEST(TuningRequest, DefaultsAreFilledIn) {
  const Result<v1::TuningOptions> options = CheckTuningOptions({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->budget_ns(), 60'000'000'000);
  EXPECT_EQ(options->seed(), 1u);
  EXPECT_EQ(options->technique(), "auc_bandit");
}

TEST(TuningRequest, ValuesOutOfBoundsAreRefused) {
  v1::TuningOptions options;
  options.set_budget_ns(-1);
  EXPECT_EQ(CheckTuningOptions(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.set_budget_ns(25 * 3600 * int64_t{1'000'000'000});
  EXPECT_THAT(std::string(CheckTuningOptions(options).status().message()), HasSubstr("24 hours"));
  options.set_budget_ns(1);
  options.set_max_trials(-5);
  EXPECT_THAT(std::string(CheckTuningOptions(options).status().message()), HasSubstr("-5"));
  options.set_max_trials(0);
  options.set_technique("guessing");
  EXPECT_EQ(CheckTuningOptions(options).status().code(), absl::StatusCode::kNotFound);
}

TEST(TuningRequest, CachesAreWarmUnlessColdOnesAreAskedFor) {
  v1::TuningOptions options;
  EXPECT_EQ(FromProto(options).measure.cache, CacheState::kWarm);
  options.set_cache_state(v1::CACHE_STATE_COLD);
  EXPECT_EQ(FromProto(options).measure.cache, CacheState::kCold);
  options.set_cache_state(static_cast<v1::CacheState>(7));
  EXPECT_THAT(std::string(CheckTuningOptions(options).status().message()),
              HasSubstr("no state of the caches number 7"));
}

TEST(TuningRequest, TimeLeftIsBoundByBudgetAndTrials) {
  v1::TuningOptions options;
  options.set_budget_ns(1000);
  EXPECT_EQ(RemainingTime(options, 5, 400), 600);
  EXPECT_EQ(RemainingTime(options, 5, 1400), 0);
  options.set_max_trials(10);
  EXPECT_EQ(RemainingTime(options, 8, 400), 100);
  EXPECT_EQ(RemainingTime(options, 12, 400), 0);
}

// Found by the fuzzer of requests: the trials that are left took more time than 64 bits hold.
TEST(TuningRequest, TimeLeftIsBoundForAnyNumberOfTrials) {
  v1::TuningOptions options;
  options.set_budget_ns(1'000'000);
  options.set_max_trials(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(RemainingTime(options, 1, 500'000), 500'000);
}

TEST(TuningRequest, TheSearchEndsAtTheFirstLimit) {
  v1::TuningOptions options;
  options.set_budget_ns(1000);
  options.set_max_trials(10);
  const TuningOptions search = FromProto(options);
  EXPECT_FALSE(search.abort.Holds({.elapsed_ns = 999, .evaluations = 9}));
  EXPECT_TRUE(search.abort.Holds({.elapsed_ns = 1000, .evaluations = 9}));
  EXPECT_TRUE(search.abort.Holds({.elapsed_ns = 0, .evaluations = 10}));
}

TEST(ResourceNames, NamesAreParsedBack) {
  EXPECT_EQ(*ParseJobName(JobName(17)), 17);
  EXPECT_EQ(*ParseRecordName(RecordName("ab")), "ab");
  EXPECT_EQ(*ParseKernelName(KernelName("ab")), "ab");
}

TEST(ResourceNames, OtherNamesAreRefused) {
  for (const char* name : {"", "17", "tuningJobs/", "tuningJobs/x", "tuningJobs/0", "tuningJobs/-1",
                           "jobs/1", "tuningJobs/99999999999999999999"}) {
    EXPECT_EQ(ParseJobName(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(ParseKernelName("records/ab").ok());
  EXPECT_FALSE(ParseRecordName("kernels/ab").ok());
}

TEST(Plausibility, FasterThanThePeakByHalfIsImplausible) {
  const DeviceDescription cpu;
  v1::MachinePeaks peaks;
  peaks.set_fp32_flops_per_s(2e12);
  peaks.set_fp64_flops_per_s(1e12);
  const Expression single = MatMulExpression(100, 100, 100);
  EXPECT_TRUE(CheckPlausible(single, 700, cpu, peaks).ok());
  EXPECT_EQ(CheckPlausible(single, 600, cpu, peaks).code(), absl::StatusCode::kInternal);
  const Expression in_double = MatMulExpression(100, 100, 100, ScalarType::kFloat64);
  EXPECT_FALSE(CheckPlausible(in_double, 700, cpu, peaks).ok());
  EXPECT_TRUE(CheckPlausible(in_double, 1400, cpu, peaks).ok());
  EXPECT_TRUE(CheckPlausible(single, 1, cpu, v1::MachinePeaks()).ok());
  EXPECT_TRUE(CheckPlausible(MatMulExpression(9, 9, 9, ScalarType::kInt32), 1, cpu, peaks).ok());
}

}  // namespace
}  // namespace mdh::tuning_request_test

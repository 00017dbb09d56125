// Candidates with buffers that are compared in the device's memory: each mistake is found as it is
// in small ones, which the host compares.
#include <string>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "tests/tuner/device_runner_fixture.h"
#include "tuner/measure/executor/device_comparison.h"

namespace mdh::runner_large_buffers_test {
namespace {

using ::testing::HasSubstr;

class LargeBuffers : public DeviceRunner {
 protected:
  // No multiple of what is compared at once.
  static constexpr int64_t kLarge = kLeastComparedBytes / 4 + 3;

  void SetUp() override {
    DeviceRunner::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Status status = runner_->SetProblem(AddExpression(kLarge), 1);
    ASSERT_TRUE(status.ok()) << status;
  }
  Kernel MakeLarge(const std::string& statements, int64_t scratch_bytes = 0) const {
    return AddDeviceKernel(is_cuda(), kLarge, statements, scratch_bytes);
  }
  // And then a right one, which stays right.
  Measurement MeasureLarge(const std::string& statements, int64_t scratch_bytes = 0) {
    const Result<std::vector<Measurement>> measured =
        runner_->Measure({MakeLarge(statements, scratch_bytes), MakeLarge(kRightDeviceAdd)}, {});
    EXPECT_TRUE(measured.ok()) << measured.status();
    if (!measured.ok()) return {};
    EXPECT_EQ((*measured)[1].outcome, TrialOutcome::kOk) << (*measured)[1].reason;
    return (*measured)[0];
  }
};

TEST_P(LargeBuffers, ARightKernelIsRight) {
  const Measurement measurement = MeasureLarge("  if (i < n) out[i] = b[i] + a[i];\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
}

TEST_P(LargeBuffers, WrongByOneElement) {
  for (const int64_t element : {int64_t{0}, kLarge / 2, kLarge - 1}) {
    const std::string number = std::to_string(element);
    const Measurement measurement =
        MeasureLarge(kRightDeviceAdd + ("  if (i == " + number + ") out[i] += 1;\n"));
    EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult) << element;
    EXPECT_THAT(measurement.reason, HasSubstr("out[" + number + "]"));
  }
}

TEST_P(LargeBuffers, WithinTheToleranceIsRight) {
  const Measurement measurement =
      MeasureLarge(std::string(kRightDeviceAdd) + "  if (i % 1000 == 7) out[i] *= 1.0000002f;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
}

TEST_P(LargeBuffers, WrongOnASecondCallOnly) {
  const Measurement measurement = MeasureLarge(
      "  if (i < n) out[i] = scratch[0] == 7 ? 0.0f : a[i] + b[i];\n"
      "  if (i == n - 1) scratch[0] = 7;\n",
      16);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
}

TEST_P(LargeBuffers, NothingIsWritten) {
  EXPECT_EQ(MeasureLarge("").outcome, TrialOutcome::kWrongResult);
}

TEST_P(LargeBuffers, WritesBehindTheOutput) {
  const Measurement measurement =
      MeasureLarge("  if (i <= n) out[i] = a[i < n ? i : 0] + b[i < n ? i : 0];\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOutOfBounds);
  EXPECT_THAT(measurement.reason, HasSubstr("0 bytes behind its end"));
}

TEST_P(LargeBuffers, WritesToAnInput) {
  const Measurement measurement = MeasureLarge(std::string(kRightDeviceAdd) +
                                               "  if (i == n - 1) ((GLOBAL float*)b)[i] = 99;\n");
  EXPECT_NE(measurement.outcome, TrialOutcome::kOk);
  EXPECT_THAT(measurement.reason, HasSubstr("input b was written at byte "));
}

// For such a result inputs are drawn again and again, each time with the same reference.
TEST_P(LargeBuffers, TheSameResultForAllInputs) {
  const Result<Expression> five = ParseExpression(
      "five<T = fp32 | I = 1> := out_view<T>( out: (i) -> (i) ) o md_hom<I>( f, (++) ) o "
      "inp_view<T,T>( a: (i) -> (i), b: (i) -> (i) )\n"
      "where f(a, b) -> out { out = a - a + (b - b) + 5 }\n",
      {{"I", absl::StrCat(kLarge)}}, "five");
  ASSERT_TRUE(five.ok()) << five.status();
  const Status status = runner_->SetProblem(*five, 1);
  ASSERT_TRUE(status.ok()) << status;
  const Measurement right = MeasureOne(MakeLarge("  if (i < n) out[i] = 5;\n"));
  EXPECT_EQ(right.outcome, TrialOutcome::kOk) << right.reason;
  EXPECT_EQ(MeasureOne(MakeLarge("  if (i < n) out[i] = 0;\n")).outcome,
            TrialOutcome::kWrongResult);
}

INSTANTIATE_TEST_SUITE_P(Devices, LargeBuffers, ::testing::Values("opencl", "cuda"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace mdh::runner_large_buffers_test

#include "tuner/measure/results/measurement.h"

#include "gtest/gtest.h"

namespace mdh::measurement_test {
namespace {

TEST(Measurement, TimeIsTheMedian) {
  Measurement measurement;
  EXPECT_EQ(measurement.time_ns(), 0);
  measurement.times_ns = {50, 10, 1000, 20, 30};
  EXPECT_EQ(measurement.time_ns(), 30);
  EXPECT_EQ(measurement.times_ns[0], 50);  // the order of the calls is kept
  measurement.outcome = TrialOutcome::kWrongResult;
  EXPECT_EQ(measurement.time_ns(), 0);
}

TEST(Measurement, OutcomesHaveNames) {
  EXPECT_EQ(Name(TrialOutcome::kOk), "ok");
  EXPECT_EQ(Name(TrialOutcome::kCompileError), "compile error");
  EXPECT_EQ(Name(TrialOutcome::kLaunchError), "launch error");
  EXPECT_EQ(Name(TrialOutcome::kTimeout), "timeout");
  EXPECT_EQ(Name(TrialOutcome::kCrash), "crash");
  EXPECT_EQ(Name(TrialOutcome::kOutOfBounds), "out of bounds");
  EXPECT_EQ(Name(TrialOutcome::kWrongResult), "wrong result");
}

}  // namespace
}  // namespace mdh::measurement_test

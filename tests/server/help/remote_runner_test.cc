#include "server/help/remote_runner.h"

#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/process/clock.h"
#include "tuner/run/trial_history.h"

namespace mdh::remote_runner_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RemoteRunnerTest : public ::testing::Test {
 protected:
  RemoteRunnerOptions Options() {
    RemoteRunnerOptions options = {.helper = {7, "nodes/b/devices/cpu"}, .device = FakeCpu()};
    options.parameters = [this](const std::string& digest) -> std::optional<std::string> {
      if (digest != KernelDigest(kernel_)) return std::nullopt;
      return "its parameters";
    };
    options.on_change = [this] { ++changes_; };
    options.places = &places_;
    return options;
  }
  Status SetProblem(uint64_t seed = 1) { return runner_.SetProblem(expression_, seed, {}); }
  static MeasuredTrial Measured(int64_t number, int64_t time_ns) {
    Measurement measurement;
    measurement.times_ns = {time_ns};
    return {7, number, ToMessage(number, measurement).SerializeAsString()};
  }

  const Expression expression_ = MatMulExpression(64, 64, 64);
  static Kernel KernelWith(const std::string& source) {
    Kernel kernel;
    kernel.entry = "mdh_fake";
    kernel.source = source;
    return kernel;
  }
  const Kernel kernel_ = KernelWith("int fake;");
  std::atomic<int> changes_ = 0;
  TrialPlaces places_;
  RemoteRunner runner_{Options()};
};

TEST_F(RemoteRunnerTest, OffersWhatIsSubmittedAndHandsOutWhatIsMeasured) {
  EXPECT_TRUE(absl::IsFailedPrecondition(runner_.Submit(1, kernel_, {})));  // no problem yet
  ASSERT_TRUE(SetProblem().ok());
  ASSERT_TRUE(runner_.Submit(1, kernel_, {.best_so_far_ns = 42}).ok());
  EXPECT_EQ(changes_, 1);
  const std::vector<OfferedTrial> offers = runner_.TakeOffers();
  ASSERT_THAT(offers, SizeIs(1));
  EXPECT_EQ(offers[0].seat, 7);
  EXPECT_EQ(offers[0].number, 1);
  EXPECT_EQ(offers[0].parameters, "its parameters");
  EXPECT_EQ(offers[0].kernel_digest, KernelDigest(kernel_));
  v1::RunnerMeasureOptions options;
  ASSERT_TRUE(options.ParseFromString(offers[0].options));
  EXPECT_EQ(options.best_so_far_ns(), 42);
  EXPECT_THAT(runner_.TakeOffers(), IsEmpty());
  runner_.Deliver(Measured(1, 1'234));
  const Result<Runner::Finished> finished = runner_.Next();
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_EQ(finished->number, 1);
  EXPECT_EQ(finished->measurement.time_ns(), 1'234);
  EXPECT_EQ(places_.Take(KernelDigest(kernel_)), "nodes/b/devices/cpu");
  EXPECT_EQ(places_.Take(KernelDigest(kernel_)), "");
  EXPECT_THAT(runner_.TakeSettled(), SizeIs(1));
  EXPECT_EQ(runner_.measured(), 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(runner_.Next().status()));  // nothing is submitted
  // Once more is not once more.
  runner_.Deliver(Measured(1, 1));
  EXPECT_EQ(runner_.measured(), 1);
  EXPECT_THAT(runner_.TakeSettled(), SizeIs(1));
}

TEST_F(RemoteRunnerTest, MeasuresTrialsAlone) {
  ASSERT_TRUE(SetProblem().ok());
  EXPECT_THAT(SetProblem(2).message(), HasSubstr("unhealthy: nodes/b/devices/cpu helps with"));
  EXPECT_EQ(*runner_.LoopNestTime(), 0);
  EXPECT_FALSE(runner_.Peaks().ok());
  EXPECT_TRUE(runner_.Health().ok());
  EXPECT_THAT(runner_.Submit(1, KernelWith("int other;"), {}).message(),
              HasSubstr("which this kernel is none of"));
  EXPECT_THAT(runner_.TakeOffers(), IsEmpty());
}

TEST_F(RemoteRunnerTest, AnInterruptGivesUpWhatIsSubmitted) {
  ASSERT_TRUE(SetProblem().ok());
  ASSERT_TRUE(runner_.Submit(1, kernel_, {}).ok());
  ASSERT_TRUE(runner_.Submit(2, kernel_, {}).ok());
  runner_.TakeOffers();
  runner_.Interrupt();
  EXPECT_EQ(changes_, 3);
  EXPECT_TRUE(WasCancelled(runner_.Next()->measurement));
  EXPECT_TRUE(WasCancelled(runner_.Next()->measurement));
  EXPECT_THAT(runner_.TakeSettled(), SizeIs(2));
  runner_.Deliver(Measured(1, 5));  // too late
  EXPECT_EQ(runner_.measured(), 0);
  // It goes on.
  ASSERT_TRUE(runner_.Submit(3, kernel_, {}).ok());
  runner_.Deliver(Measured(3, 5));
  EXPECT_EQ(runner_.Next()->number, 3);
}

TEST_F(RemoteRunnerTest, WhatIsTakenBackIsMeasuredByAnother) {
  ASSERT_TRUE(SetProblem().ok());
  for (const int64_t number : {1, 2}) ASSERT_TRUE(runner_.Submit(number, kernel_, {}).ok());
  runner_.Deliver(Measured(2, 5));
  EXPECT_FALSE(runner_.TakeBack(2)) << "it is known";
  EXPECT_FALSE(runner_.TakeBack(3)) << "it was never submitted";
  EXPECT_TRUE(runner_.TakeBack(1));
  EXPECT_FALSE(runner_.TakeBack(1));
  EXPECT_EQ(changes_, 3);
  // It is offered no more, and what its helper still says of it does not count.
  const std::vector<OfferedTrial> offers = runner_.TakeOffers();
  ASSERT_THAT(offers, SizeIs(1));
  EXPECT_EQ(offers[0].number, 2);
  runner_.Deliver(Measured(1, 5));
  EXPECT_EQ(runner_.measured(), 1);
  EXPECT_EQ(runner_.Next()->number, 2);
  const Result<Runner::Finished> taken = runner_.Next();
  EXPECT_EQ(taken->number, 1);
  EXPECT_TRUE(WasCancelled(taken->measurement));
}

TEST_F(RemoteRunnerTest, WhenItsHelperHasGoneEveryCallFails) {
  ASSERT_TRUE(SetProblem().ok());
  ASSERT_TRUE(runner_.Submit(1, kernel_, {}).ok());
  ASSERT_TRUE(runner_.Submit(2, kernel_, {}).ok());
  std::thread going([&] {
    absl::SleepFor(absl::Milliseconds(20));
    runner_.Deliver(Measured(2, 5));
    runner_.Go("helps no more");
    runner_.Go("for another reason");
  });
  EXPECT_EQ(runner_.Next()->number, 2);  // what it had measured counts
  EXPECT_THAT(runner_.Next().status().message(),
              HasSubstr("unhealthy: nodes/b/devices/cpu helps no more"));
  going.join();
  EXPECT_TRUE(runner_.has_gone());
  EXPECT_FALSE(runner_.Health().ok());
  EXPECT_FALSE(runner_.Submit(3, kernel_, {}).ok());
  EXPECT_FALSE(SetProblem().ok());
}

TEST_F(RemoteRunnerTest, AtTheDeadlineWhatIsSubmittedIsGivenUp) {
  ASSERT_TRUE(SetProblem().ok());
  runner_.SetDeadline(NowNs() + 50'000'000);
  ASSERT_TRUE(runner_.Submit(1, kernel_, {}).ok());
  EXPECT_TRUE(WasCancelled(runner_.Next()->measurement));
}

}  // namespace
}  // namespace mdh::remote_runner_test

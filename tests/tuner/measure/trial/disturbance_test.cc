// Whether a process notices that others use its cores.
#include "tuner/measure/trial/disturbance.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "gtest/gtest.h"

namespace mdh::disturbance_test {
namespace {

void Compute(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// This process and a child that computes share one core while it lives.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    child_ = fork();
    if (child_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) Compute(std::chrono::milliseconds(100));
  }
  ~OneCore() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_ = {};
  pid_t child_ = 0;
};

TEST(DisturbanceTest, AnotherProcessOnTheSameCoreIsNoticed) {
  if (!TimesOfThreads()) GTEST_SKIP() << "this system has no /proc/self/task/*/schedstat";
  const OneCore shared;
  DisturbanceWatch calls, awakenings(BetweenCalls::kSleep);
  SharedCoresWatch cores;
  calls.Begin(/*expected_ns=*/200'000'000);
  awakenings.Begin(/*expected_ns=*/200'000'000);
  cores.Begin();
  Compute(std::chrono::milliseconds(200));
  EXPECT_TRUE(calls.WasDisturbed(200'000'000));
  EXPECT_TRUE(awakenings.WasDisturbed(200'000'000));
  EXPECT_TRUE(cores.WereShared());
}

TEST(DisturbanceTest, SwitchesOfThreadsThatSleepSayNothing) {
  DisturbanceWatch awakenings(BetweenCalls::kSleep);
  awakenings.Begin(/*expected_ns=*/0);
  const OneCore shared;
  Compute(std::chrono::milliseconds(50));
  EXPECT_FALSE(awakenings.WasDisturbed(50'000'000));
}

TEST(DisturbanceTest, NothingIsSharedBeforeItBegins) {
  const SharedCoresWatch cores;
  EXPECT_FALSE(cores.WereShared());
  const StolenTimeWatch stolen;
  EXPECT_FALSE(stolen.WasStolen());
}

TEST(DisturbanceTest, TimesOfCoresAreThoseOfProcStat) {
  const std::string text =
      "cpu  8 28 308 4008 50008 14 78 16 900 1000\ncpu0 7 8 8 8 8 8 8 8 0 0\n"
      "cpu1 1 20 300 4000 50000 6 70 8 900 1000\nintr 5 6\n";
  const auto times = ParseCoreTimes(text, {1}, 100);
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->busy_ns, 3'970'000'000) << "user, nice, system, interrupts";
  EXPECT_EQ(times->idle_ns, 540'000'000'000);
  EXPECT_EQ(times->stolen_ns, 80'000'000);
  EXPECT_EQ(ParseCoreTimes(text, {0, 1}, 100)->stolen_ns, 160'000'000);
  EXPECT_FALSE(ParseCoreTimes("cpu0 1 2 3 4 5 6 7", {0}, 100).has_value()) << "an old system";
  EXPECT_FALSE(ParseCoreTimes("", {0}, 100).has_value());
  EXPECT_FALSE(ParseCoreTimes(text, {0}, 0).has_value());
  EXPECT_FALSE(ParseCoreTimes(text, {0, 2}, 100).has_value()) << "there is no such core";
  EXPECT_FALSE(ParseCoreTimes(text, {}, 100).has_value());
}

TEST(DisturbanceTest, TimeOnCoresIsCounted) {
  const auto before = TimesOfThreads();
  if (!before) GTEST_SKIP() << "this system has no /proc/self/task/*/schedstat";
  Compute(std::chrono::milliseconds(20));
  EXPECT_GT(TimesOfThreads()->running_ns, before->running_ns);
}

}  // namespace
}  // namespace mdh::disturbance_test

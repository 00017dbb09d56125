// Runners that hang without dying: whoever waits for them gets an answer, and a new one.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "gmock/gmock.h"
#include "tests/tuner/processes.h"
#include "tests/tuner/runner_fixture.h"
#include "tuner/process/clock.h"

namespace mdh::runner_watchdog_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunnerWatchdog : public RunnerTest {
 protected:
  void Start() {
    RunnerOptions options = Options();
    options.is_stopping = is_stopping_;
    options.answer_limit_ns = 20'000'000'000;
    Result<std::unique_ptr<Runner>> runner = Runner::Start(options);
    ASSERT_TRUE(runner.ok()) << runner.status();
    runner_ = *std::move(runner);
  }
  static void StopAll() {
    for (const pid_t pid : Descendants()) kill(pid, SIGSTOP);
  }

  const std::shared_ptr<std::atomic<bool>> is_stopping_ = std::make_shared<std::atomic<bool>>();
};

TEST_F(RunnerWatchdog, OneThatDoesNotAnswerIsEndedAndStartedAgain) {
  RunnerOptions options = Options();
  // Long enough for compilers to be found on a busy machine.
  options.answer_limit_ns = 5'000'000'000;
  Result<std::unique_ptr<Runner>> runner = Runner::Start(options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  runner_ = *std::move(runner);
  StopAll();
  const int64_t begin_ns = NowNs();
  const Status status = runner_->Health();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("SIGKILL"));
  EXPECT_LT(NowNs() - begin_ns, 7'000'000'000);
  EXPECT_THAT(Descendants(), IsEmpty());
  EXPECT_TRUE(runner_->Health().ok());
}

TEST_F(RunnerWatchdog, WhenThisProcessEndsNobodyWaits) {
  Start();
  StopAll();
  std::thread end([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    *is_stopping_ = true;
  });
  const int64_t begin_ns = NowNs();
  EXPECT_FALSE(runner_->Health().ok());
  end.join();
  runner_.reset();
  EXPECT_LT(NowNs() - begin_ns, 1'700'000'000);
  EXPECT_THAT(Descendants(), IsEmpty());
  RunnerOptions options = Options();
  options.is_stopping = is_stopping_;
  EXPECT_EQ(Runner::Start(options).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(RunnerWatchdog, AStartIsGivenUpWhenThisProcessEnds) {
  std::thread end([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    *is_stopping_ = true;
  });
  RunnerOptions options = Options();
  options.is_stopping = is_stopping_;
  const std::string gcc = directory_.File("gcc");
  std::ofstream(gcc) << "#!/bin/sh\nsleep 100\n";
  std::filesystem::permissions(gcc, std::filesystem::perms::owner_all);
  options.path = directory_.path().string() + ":/usr/bin:/bin";
  const int64_t begin_ns = NowNs();
  EXPECT_EQ(Runner::Start(options).status().code(), absl::StatusCode::kCancelled);
  end.join();
  EXPECT_LT(NowNs() - begin_ns, 1'500'000'000);
  EXPECT_THAT(Descendants(), IsEmpty());
}

// As when a package is installed anew.
TEST_F(RunnerWatchdog, ReplacedCompilersAreNoticedAndTakenWithTheNextCheck) {
  const std::string gcc = directory_.File("gcc");
  const auto install = [&](const std::string& version) {
    std::filesystem::remove(gcc);
    std::ofstream(gcc) << "#!/bin/sh\ncase $1 in -dumpfullversion) echo " << version
                       << " ;; *) exec /usr/bin/gcc \"$@\" ;; esac\n";
    std::filesystem::permissions(gcc, std::filesystem::perms::owner_all);
  };
  if (access("/usr/bin/gcc", X_OK) != 0) GTEST_SKIP() << "there is no /usr/bin/gcc";
  install("98.1");
  RunnerOptions options = Options();
  options.path = directory_.path().string() + ":/usr/bin";
  Result<std::unique_ptr<Runner>> runner = Runner::Start(options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  runner_ = *std::move(runner);
  EXPECT_THAT(runner_->device().compiler, ::testing::StartsWith("gcc 98.1"));
  EXPECT_FALSE(runner_->HasNewCompilers());
  install("99.2");
  EXPECT_TRUE(runner_->HasNewCompilers());
  EXPECT_THAT(runner_->device().compiler, ::testing::StartsWith("gcc 98.1"));
  EXPECT_TRUE(runner_->Health().ok());
  EXPECT_THAT(runner_->device().compiler, ::testing::StartsWith("gcc 99.2"));
  EXPECT_FALSE(runner_->HasNewCompilers());
}

}  // namespace
}  // namespace mdh::runner_watchdog_test

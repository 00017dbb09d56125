// Candidates that crash, hang or end the process that evaluates them; the next ones are evaluated.
#include "tuner/program/isolated_evaluator.h"

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/source_path.h"
#include "tests/tuner/program/program_fixture.h"

namespace mdh::isolated_evaluator_test {
namespace {

using ::testing::StartsWith;

class IsolatedEvaluatorTest : public ::testing::Test {
 protected:
  WorkerCommand Worker() const {
    return {BuildPath("bin/mdh-evaluator"), {}, directory_.path().string()};
  }
  void Start(const std::string& spec) {
    auto evaluator = IsolatedEvaluator::Create(SpecFrom(spec), "/", Worker());
    ASSERT_TRUE(evaluator.ok()) << evaluator.status().message();
    evaluator_ = *std::move(evaluator);
  }
  void StartCommand(const std::string& run) {
    Start(absl::StrCat(
        "study: {parameters: [{name: X, interval: {first: 0, last: 9}}]}\n"
        "command:\n  time_limit_seconds: 30\n  cost_pattern: cost (.*)\n  run: >-\n    ",
        run, "\n"));
  }
  // `body`: what a work-item with the number i does with the buffer x of 64 ints.
  void StartKernel(const std::string& body, const std::string& more = "") {
    Start(absl::StrCat(
        "study: {parameters: [{name: X, interval: {first: 0, last: 9}}]}\n"
        "kernel:\n  language: OPENCL\n  function: f\n  global_size: [64]\n  local_size: [8]\n"
        "  arguments: [{name: x, type: int32, zeros: 64}]\n  source: >-\n"
        "    __kernel void f(__global int* x) { int i = get_global_id(0); ",
        body, " }\n", more));
    const auto first = evaluator_->Evaluate(ConfigurationFrom("X: 0"));
    if (!first.ok()) {
      // Everything but a missing driver is wrong.
      const std::string why(first.status().message());
      ASSERT_THAT(why, ::testing::HasSubstr("there is no "));
      GTEST_SKIP() << why;
    }
    EXPECT_TRUE(first->has_cost()) << first->failure();
  }
  std::string Evaluate(int x) {
    return Outcome(evaluator_->Evaluate(ConfigurationFrom(absl::StrCat("X: ", x))));
  }
  void TearDown() override {
    evaluator_.reset();
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << "folders were left";
  }

  TemporaryDirectory directory_;
  std::unique_ptr<IsolatedEvaluator> evaluator_;
};

TEST_F(IsolatedEvaluatorTest, Commands) {
  StartCommand("test {X} != 3 && echo cost {X}");
  EXPECT_EQ(Evaluate(2), "cost 2");
  EXPECT_EQ(Evaluate(3), "crash: exit status 1");
  EXPECT_EQ(Evaluate(4), "cost 4");
}

TEST_F(IsolatedEvaluatorTest, CommandsThatKillTheirParent) {
  StartCommand("if test {X} = 3; then kill -9 $PPID; fi; echo cost {X}");
  EXPECT_EQ(Evaluate(3), "crash: the evaluating process ended: SIGKILL (killed)");
  EXPECT_EQ(Evaluate(4), "cost 4");
}

TEST_F(IsolatedEvaluatorTest, WrongConfigurationsAndPrograms) {
  StartCommand("echo cost 1");
  EXPECT_EQ(evaluator_->Evaluate(ConfigurationFrom("X: 77")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(evaluator_->Evaluate(ConfigurationFrom("Y: 1")).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto wrong = IsolatedEvaluator::Create(v1::ProgramSpec(), "/", Worker());
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(IsolatedEvaluatorTest, DevicesThatAreNotThere) {
  Start(
      "study: {parameters: [{name: X, interval: {first: 0, last: 9}}]}\n"
      "kernel: {language: OPENCL, function: f, source: x, global_size: [1], device: none such}");
  const auto response = evaluator_->Evaluate(ConfigurationFrom("X: 1"));
  EXPECT_EQ(response.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(IsolatedEvaluatorTest, ProgramsThatCannotBeStarted) {
  WorkerCommand worker = Worker();
  worker.program = directory_.File("missing");
  auto evaluator = IsolatedEvaluator::Create(
      SpecFrom("study: {parameters: [{name: X, interval: {first: 0, last: 9}}]}\n"
               "command: {run: x}"),
      "/", worker);
  ASSERT_TRUE(evaluator.ok());
  EXPECT_EQ((*evaluator)->Evaluate(ConfigurationFrom("X: 1")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << "a folder was left";
  worker = Worker();
  worker.temporary_folder = directory_.File("missing");
  evaluator = IsolatedEvaluator::Create(
      SpecFrom("study: {parameters: [{name: X, interval: {first: 0, last: 9}}]}\n"
               "command: {run: x}"),
      "/", worker);
  EXPECT_EQ((*evaluator)->Evaluate(ConfigurationFrom("X: 1")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(IsolatedEvaluatorTest, InterruptionEndsWhatRuns) {
  StartCommand("echo $$ > " + directory_.File("pid") + "; sleep 1000");
  std::thread interrupter([&] {
    while (!std::filesystem::exists(directory_.File("pid")) ||
           std::filesystem::file_size(directory_.File("pid")) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    evaluator_->Interrupt();
  });
  const auto response = evaluator_->Evaluate(ConfigurationFrom("X: 1"));
  interrupter.join();
  EXPECT_EQ(response.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(evaluator_->Evaluate(ConfigurationFrom("X: 1")).status().code(),
            absl::StatusCode::kCancelled);
  pid_t pid = 0;
  std::ifstream(directory_.File("pid")) >> pid;
  EXPECT_NE(kill(pid, 0), 0) << "the command still runs";
  std::filesystem::remove(directory_.File("pid"));
}

TEST_F(IsolatedEvaluatorTest, KernelsThatCrash) {
  StartKernel("if (X == 3) *(volatile __global int*)(x + (1L << 40)) = 1; x[i] = i;");
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_THAT(Evaluate(3), StartsWith("crash: "));
  EXPECT_THAT(Evaluate(4), StartsWith("cost "));
}

TEST_F(IsolatedEvaluatorTest, KernelsThatHang) {
  StartKernel("while (X == 3 && *(volatile __global int*)x == 0) {}", "  time_limit_seconds: 5\n");
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(Evaluate(3), "time-out: it takes longer than 5 s");
  EXPECT_THAT(Evaluate(4), StartsWith("cost "));
}

TEST_F(IsolatedEvaluatorTest, KernelsThatWriteOutside) {
  StartKernel("if (X == 3) x[i + 64] = 1; x[i] = i;");
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(Evaluate(3), "wrong result: it writes behind the end of x");
  EXPECT_THAT(Evaluate(4), StartsWith("cost "));
}

}  // namespace
}  // namespace mdh::isolated_evaluator_test

// Starting, losing and ending runners, and what they say about machine and problem.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "codegen/backends/loop_nest.h"
#include "gmock/gmock.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/processes.h"
#include "tests/tuner/runner_fixture.h"
#include "tuner/process/clock.h"

namespace mdh::runner_lifecycle_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class RunnerLifecycle : public RunnerTest {
 protected:
  std::string FolderWith(const std::string& name, const std::string& script) {
    const std::filesystem::path folder = directory_.path() / ("folder_of_" + name);
    std::filesystem::create_directory(folder);
    std::ofstream(folder / name) << "#!/bin/sh\n" << script << "\n";
    chmod((folder / name).c_str(), 0755);
    return folder;
  }
};

TEST_F(RunnerLifecycle, DescribesTheDeviceWithItsCompilers) {
  StartRunner();
  EXPECT_THAT(runner_->device().compiler, MatchesRegex("(gcc|clang) [0-9].*"));
  EXPECT_GE(runner_->device().cores, 1);
}

TEST_F(RunnerLifecycle, AMissingProgramIsNamed) {
  RunnerOptions options = Options();
  options.program = directory_.File("nothing-here");
  const auto runner = Runner::Start(options);
  EXPECT_EQ(runner.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(runner.status().message(), HasSubstr(options.program));
  EXPECT_THAT(runner.status().message(), HasSubstr("No such file"));
}

TEST_F(RunnerLifecycle, AProgramThatIsNoRunnerIsNamed) {
  RunnerOptions options = Options();
  options.program = FolderWith("impostor", "exit 3") + "/impostor";
  const auto runner = Runner::Start(options);
  EXPECT_EQ(runner.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(runner.status().message(), HasSubstr("ended before it was ready: exit status 3"));
}

TEST_F(RunnerLifecycle, NoCompilerOnTheMachine) {
  RunnerOptions options = Options();
  options.path = "";
  const auto runner = Runner::Start(options);
  EXPECT_EQ(runner.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(runner.status().message(), "no C compiler found: install gcc or clang");
  EXPECT_THAT(Descendants(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(options.work_directory));
}

TEST_F(RunnerLifecycle, AWorkDirectoryThatCannotBeMadeIsNamed) {
  std::ofstream(directory_.File("file")) << "text";
  RunnerOptions options = Options();
  options.work_directory = directory_.File("file/below");
  const auto runner = Runner::Start(options);
  EXPECT_EQ(runner.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(runner.status().message(), HasSubstr(options.work_directory));
}

TEST_F(RunnerLifecycle, AWorkDirectoryThatVanishesIsNamed) {
  StartRunner();
  std::filesystem::remove_all(directory_.File("runner"));
  const auto measured = runner_->Measure({RightAddKernel(kSize)}, {});
  EXPECT_EQ(measured.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(measured.status().message(), HasSubstr(directory_.File("runner")));
}

TEST_F(RunnerLifecycle, LeavesNothingBehind) {
  StartRunner();
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
  EXPECT_EQ(Descendants(), DescendantsNamed("mdh-runner"));
  runner_.reset();
  EXPECT_THAT(Descendants(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(directory_.File("runner")));
}

TEST_F(RunnerLifecycle, ACandidateWithWhichTheRunnerDiesAgainAndAgainFailsAndNoOther) {
  StartRunner();
  const std::vector<pid_t> before = Descendants();
  ASSERT_EQ(before, DescendantsNamed("mdh-runner"));
  std::thread killer([&] {
    for (int death = 0; death < 3; ++death) {
      // Until the endless candidate runs: the others are not there for long.
      for (int since = 0; since < 100;) {
        usleep(5000);
        since = DescendantsNamed("mdh-candidate").empty() ? 0 : since + 1;
      }
      for (const pid_t runner : DescendantsNamed("mdh-runner")) kill(runner, SIGKILL);
    }
  });
  const Kernel endless = AddKernel(kSize, "  while (1) usleep(1000);\n");
  const auto measured = runner_->Measure({RightAddKernel(kSize), endless, RightAddKernel(kSize)},
                                         {.run_limit_ns = 100'000'000'000});
  killer.join();
  ASSERT_TRUE(measured.ok()) << measured.status();
  const Measurement& lost = (*measured)[1];
  EXPECT_EQ(lost.outcome, TrialOutcome::kLaunchError);
  EXPECT_EQ(lost.reason, "the runner ended: SIGKILL (killed)");
  EXPECT_EQ((*measured)[0].outcome, TrialOutcome::kOk) << (*measured)[0].reason;
  EXPECT_EQ((*measured)[2].outcome, TrialOutcome::kOk) << (*measured)[2].reason;
  EXPECT_EQ(Descendants(), DescendantsNamed("mdh-runner"));  // the candidate went with it
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
  EXPECT_NE(Descendants(), before);
}

TEST_F(RunnerLifecycle, CompilationsEndWithTheRunnerWhichIsNotStartedForEver) {
  const std::string folder = FolderWith(
      "gcc", "case \"$*\" in *-DSLOW*) sleep 1000; exit 1;; esac\nexec /usr/bin/gcc \"$@\"");
  RunnerOptions options = Options();
  options.path = folder + ":/usr/bin:/bin";
  runner_ = *Runner::Start(options);
  ASSERT_TRUE(runner_->SetProblem(AddExpression(kSize), 1).ok());
  Kernel slow = RightAddKernel(kSize);
  slow.compile_options = {"-DSLOW"};
  std::thread killer([&] {
    for (int death = 0; death < 3; ++death) {
      // Only when it compiles: then nothing is measured.
      for (int i = 0; i < 2000 && DescendantsNamed("sleep").empty(); ++i) usleep(5000);
      kill(Descendants().at(0), SIGKILL);
      for (int i = 0; i < 2000 && !DescendantsNamed("sleep").empty(); ++i) usleep(5000);
    }
  });
  const auto measured = runner_->Measure({slow}, {.compile_limit_ns = 100'000'000'000});
  killer.join();
  EXPECT_EQ(measured.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(measured.status().message(), "the runner ended: SIGKILL (killed)");
  EXPECT_THAT(Descendants(), IsEmpty());
}

TEST_F(RunnerLifecycle, ARunnerThatDiesWhileIdleIsStartedAgain) {
  StartRunner();
  kill(Descendants().at(0), SIGKILL);
  usleep(100'000);
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
}

// Killed in the middle of a run, the daemon can clean nothing up.
TEST_F(RunnerLifecycle, ARunnerAndItsCandidateEndWithTheirDaemon) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    const std::unique_ptr<Runner> runner = *Runner::Start(Options());
    if (!runner->SetProblem(AddExpression(kSize), 1).ok()) _exit(1);
    std::thread reporter([&] {
      for (int i = 0; i < 2000 && Descendants().size() < 2; ++i) usleep(5000);
      usleep(500'000);  // compiled by now
      const std::vector<pid_t> pids = Descendants();
      if (write(ends[1], pids.data(), 2 * sizeof(pid_t)) < 0) _exit(1);
    });
    runner->Measure({AddKernel(kSize, "  while (1) usleep(1000);\n")}, {}).IgnoreError();
    _exit(1);
  }
  pid_t pids[2] = {};
  ASSERT_EQ(read(ends[0], pids, sizeof(pids)), static_cast<ssize_t>(sizeof(pids)));
  EXPECT_TRUE(IsAlive(pids[0]));
  kill(daemon, SIGKILL);
  waitpid(daemon, nullptr, 0);
  for (int i = 0; i < 1000 && (IsAlive(pids[0]) || IsAlive(pids[1])); ++i) usleep(5000);
  EXPECT_FALSE(IsAlive(pids[0]));
  EXPECT_FALSE(IsAlive(pids[1]));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(RunnerLifecycle, InterruptEndsSetProblemToo) {
  runner_ = *Runner::Start(Options());
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    runner_->Interrupt();
  });
  // The plain loop nest of this takes minutes.
  const Status status = runner_->SetProblem(MatMulExpression(4000, 4000, 4000), 1);
  other.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  ASSERT_TRUE(runner_->SetProblem(AddExpression(kSize), 1).ok());
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
}

class RunnerThatHangs : public RunnerLifecycle {
 protected:
  void SetUp() override {
    RunnerOptions options = Options();
    options.interrupt_limit_ns = 300'000'000;
    Result<std::unique_ptr<Runner>> runner = Runner::Start(options);
    ASSERT_TRUE(runner.ok()) << runner.status();
    runner_ = *std::move(runner);
  }

  // Stops the runner in the middle of what it does, and no longer waits for it.
  std::thread StopAndInterrupt() {
    return std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      for (const pid_t pid : Descendants()) kill(pid, SIGSTOP);
      runner_->Interrupt();
    });
  }
};

TEST_F(RunnerThatHangs, IsEndedAfterAnInterruptionOfMeasure) {
  ASSERT_TRUE(runner_->SetProblem(AddExpression(kSize), 1).ok());
  std::thread other = StopAndInterrupt();
  const Measurement measured = MeasureOne(AddKernel(kSize, "  while (1) usleep(1000);\n"));
  other.join();
  EXPECT_EQ(measured.outcome, TrialOutcome::kTimeout);
  EXPECT_EQ(measured.reason, "cancelled");
  EXPECT_THAT(Descendants(), IsEmpty());
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
}

TEST_F(RunnerThatHangs, IsEndedAfterAnInterruptionOfSetProblem) {
  std::thread other = StopAndInterrupt();
  const Status status = runner_->SetProblem(MatMulExpression(4000, 4000, 4000), 1);
  other.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_THAT(status.message(), HasSubstr("SIGKILL"));
  ASSERT_TRUE(runner_->SetProblem(AddExpression(kSize), 1).ok());
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
}

TEST_F(RunnerLifecycle, MeasureNeedsAProblem) {
  runner_ = *Runner::Start(Options());
  const auto measured = runner_->Measure({RightAddKernel(kSize)}, {});
  EXPECT_EQ(measured.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(runner_->LoopNestTime().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RunnerLifecycle, ProblemsCanBeChanged) {
  StartRunner();
  ASSERT_TRUE(runner_->SetProblem(AddExpression(17), 2).ok());
  EXPECT_EQ(MeasureOne(RightAddKernel(17)).outcome, TrialOutcome::kOk);
  EXPECT_EQ(MeasureOne(RightAddKernel(18)).outcome, TrialOutcome::kOutOfBounds);
  ASSERT_TRUE(runner_->SetProblem(AddExpression(18), 2).ok());
  EXPECT_EQ(MeasureOne(RightAddKernel(18)).outcome, TrialOutcome::kOk);
}

// sqrt(x - 3) is NaN for every value that is drawn.
TEST_F(RunnerLifecycle, AProblemWithoutAResultIsRefused) {
  const ScalarType type = ScalarType::kFloat32;
  ScalarFunction f =
      *ScalarFunction::Create("f", {{"x", type}}, {{"z", type}},
                              {{ScalarOp::kParameter, type, {}, 0},
                               {ScalarOp::kConstant, type, {}, -1, ScalarValue::Real(type, 3)},
                               {ScalarOp::kSub, type, {0, 1}},
                               {ScalarOp::kSqrt, type, {2}}},
                              {3});
  ExpressionSpec spec{"root",
                      {{"i", 8}},
                      {{"a", type, {}, {{{{{1}, 0}}}}}},
                      {{"out", type, {}, {{{{{1}, 0}}}}}},
                      std::move(f),
                      {CombineOperator::Concat()}};
  const Expression expression = *Expression::Create(std::move(spec));
  StartRunner();
  const Status status = runner_->SetProblem(expression, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("root"));
  EXPECT_THAT(status.message(), HasSubstr("NaN"));
}

TEST_F(RunnerLifecycle, BuffersThatDoNotFitIntoMemoryAreRefused) {
  runner_ = *Runner::Start(Options());
  const Status status = runner_->SetProblem(AddExpression(int64_t{1} << 42), 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("add"));
}

TEST_F(RunnerLifecycle, LargeProblemsTakeTheirReferenceFromTheLoopNest) {
  runner_ = *Runner::Start(Options());
  const Status status = runner_->SetProblem(MatMulExpression(150, 130, 140), 1);
  ASSERT_TRUE(status.ok()) << status;
  const int64_t time = *runner_->LoopNestTime();
  EXPECT_GT(time, 100'000);
  EXPECT_EQ(*runner_->LoopNestTime(), time);
  const Measurement measurement = MeasureOne(GenerateLoopNest(MatMulExpression(150, 130, 140)));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
}

TEST_F(RunnerLifecycle, SmallProblemsAreInterpretedAndTheLoopNestAgrees) {
  runner_ = *Runner::Start(Options());
  ASSERT_TRUE(runner_->SetProblem(MatMulExpression(15, 13, 14), 1).ok());
  EXPECT_GT(*runner_->LoopNestTime(), 0);
  const Measurement measurement = MeasureOne(GenerateLoopNest(MatMulExpression(15, 13, 14)));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
}

TEST_F(RunnerLifecycle, PeaksAreSensible) {
  runner_ = *Runner::Start(Options());
  const MachinePeaks peaks = *runner_->Peaks();
  EXPECT_GT(peaks.fp32_flops_per_s, 1e9);
  EXPECT_LT(peaks.fp32_flops_per_s, 1e15);
  EXPECT_GT(peaks.fp64_flops_per_s, 1e9 / 2);
  EXPECT_GT(peaks.fp32_flops_per_s, 0.8 * peaks.fp64_flops_per_s);
  EXPECT_GT(peaks.memory_bytes_per_s, 1e8);
  EXPECT_LT(peaks.memory_bytes_per_s, 1e14);
  EXPECT_GT(peaks.copy_bytes_per_s, 1e8);
  EXPECT_LT(peaks.copy_bytes_per_s, 1e14);
  EXPECT_GT(peaks.launch_overhead_ns, 10);
  EXPECT_LT(peaks.launch_overhead_ns, 1e8);
  EXPECT_EQ(runner_->Peaks()->fp32_flops_per_s, peaks.fp32_flops_per_s);  // kept
}

// Such peaks come from a machine that something else kept busy.
TEST_F(RunnerLifecycle, PeaksThatAKernelExceedsAreMeasuredAgain) {
  RunnerOptions options = Options();
  options.peaks = MachinePeaks{.fp32_flops_per_s = 1000, .fp64_flops_per_s = 1000};
  runner_ = *Runner::Start(options);
  EXPECT_EQ(runner_->Peaks()->fp32_flops_per_s, 1000);
  ASSERT_TRUE(runner_->SetProblem(MatMulExpression(60, 60, 60), 1).ok());
  const Measurement measurement = MeasureOne(GenerateLoopNest(MatMulExpression(60, 60, 60)));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
  EXPECT_GT(runner_->Peaks()->fp32_flops_per_s, 1e8);
}

TEST_F(RunnerLifecycle, ADeadlineEndsWhatRunsAndWhatIsBegunLater) {
  StartRunner();
  const int64_t start = NowNs();
  runner_->SetDeadline(start + 1'500'000'000);
  const Kernel endless = AddKernel(kSize, "  while (1) usleep(1000);\n");
  const Measurement measurement = MeasureOne(endless);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kTimeout);
  EXPECT_EQ(measurement.reason, "cancelled");
  EXPECT_LT(NowNs() - start, 8'000'000'000);
  EXPECT_TRUE(absl::IsCancelled(runner_->SetProblem(AddExpression(kSize), 2)));
  runner_->SetDeadline(0);
  ASSERT_TRUE(runner_->SetProblem(AddExpression(kSize), 2).ok());
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
}

TEST_F(RunnerLifecycle, StepsOfAProblemAreTold) {
  StartRunner();
  std::vector<ProblemStep> steps;
  runner_->SetStepListener([&](ProblemStep step) { steps.push_back(step); });
  ASSERT_TRUE(runner_->SetProblem(AddExpression(kSize), 2).ok());
  EXPECT_THAT(steps, ::testing::ElementsAre(ProblemStep::kInputs, ProblemStep::kReference));
}

}  // namespace
}  // namespace mdh::runner_lifecycle_test

// What the runner says about kernels that are right, and wrong in every way.
#include "tuner/measure/runner.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "gmock/gmock.h"
#include "tests/tuner/processes.h"
#include "tests/tuner/runner_fixture.h"
#include "tuner/process/clock.h"

namespace mdh::runner_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

class CandidateTest : public RunnerTest {
 protected:
  void SetUp() override { StartRunner(); }

  // Measures `statements`, then a right kernel: whatever a candidate does, the run goes on.
  Measurement MeasureBad(const std::string& statements, const MeasureOptions& options = {},
                         int64_t scratch_bytes = 0) {
    const Result<std::vector<Measurement>> measured = runner_->Measure(
        {AddKernel(kSize, statements, scratch_bytes), RightAddKernel(kSize)}, options);
    EXPECT_TRUE(measured.ok()) << measured.status();
    EXPECT_EQ((*measured)[1].outcome, TrialOutcome::kOk) << (*measured)[1].reason;
    EXPECT_THAT((*measured)[0].times_ns, IsEmpty());
    return (*measured)[0];
  }
};

TEST_F(CandidateTest, ARightKernelIsTimed) {
  const MeasureOptions options = {
      .min_repeats = 5, .target_time_ns = 0, .max_repeats = 100, .precision = 0};
  const Measurement measurement = MeasureOne(RightAddKernel(kSize), options);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
  EXPECT_THAT(measurement.reason, IsEmpty());
  EXPECT_THAT(measurement.times_ns, SizeIs(Ge(5u)));  // more if others disturb each of them
  if (!measurement.is_disturbed) EXPECT_THAT(measurement.times_ns, SizeIs(5));
  EXPECT_THAT(measurement.times_ns, Each(Gt(0)));
  EXPECT_GT(measurement.compile_ns, 0);
  EXPECT_GT(measurement.calls_per_time, 1);  // it is short
}

// Neither the clock's resolution nor its own time stands for that of a kernel that does nothing.
TEST_F(CandidateTest, ShortKernelsAreTimedInBatches) {
  const std::string once =  // outputs that were not written yet are nan
      std::string("  if (out[0] != out[0]) {\n") + kRightAdd + "  }\n";
  const Measurement nothing = MeasureOne(AddKernel(kSize, once));
  EXPECT_EQ(nothing.outcome, TrialOutcome::kOk) << nothing.reason;
  EXPECT_GT(nothing.calls_per_time, 100);
  EXPECT_LT(*std::min_element(nothing.times_ns.begin(), nothing.times_ns.end()), 20);
  const std::string slow = std::string("  usleep(200);\n") + kRightAdd;
  EXPECT_EQ(MeasureOne(AddKernel(kSize, slow)).calls_per_time, 1);
  const std::string slowest = std::string("  usleep(21000);\n") + kRightAdd;
  EXPECT_EQ(MeasureOne(AddKernel(kSize, slowest)).calls_per_time, 1);
}

// However large the last-level cache is.
TEST_F(CandidateTest, ColdCachesLeaveTimeForManyCalls) {
  const MeasureOptions options = {.min_repeats = 100,
                                  .target_time_ns = 0,
                                  .max_repeats = 10'000,  // so that disturbed calls are made up for
                                  .precision = 0,
                                  .cache = CacheState::kCold};
  const Measurement measurement = MeasureOne(RightAddKernel(kSize), options);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
  EXPECT_EQ(measurement.calls_per_time, 1);
  if (!measurement.is_disturbed) EXPECT_THAT(measurement.times_ns, SizeIs(100));
}

TEST_F(CandidateTest, KernelsThatShareAUnitAreMeasuredEachForItself) {
  const MeasureOptions options = {.may_share_unit = true};
  std::vector<Kernel> kernels(3, RightAddKernel(kSize));
  kernels.push_back(AddKernel(kSize, std::string(kRightAdd) + "  out[617] += 1;\n"));
  kernels.push_back(AddKernel(kSize, std::string(kRightAdd) + "  out[2] = s[0];\n"));
  kernels.push_back(AddKernel(kSize, std::string("  static int calls;\n  ++calls;\n") + kRightAdd));
  const Result<std::vector<Measurement>> measured = runner_->Measure(kernels, options);
  ASSERT_TRUE(measured.ok()) << measured.status();
  for (const size_t right : {0, 1, 2, 5}) {
    EXPECT_EQ((*measured)[right].outcome, TrialOutcome::kOk) << (*measured)[right].reason;
  }
  EXPECT_EQ((*measured)[3].outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT((*measured)[3].reason, HasSubstr("out[617]"));
  EXPECT_EQ((*measured)[4].outcome, TrialOutcome::kCompileError);
}

TEST_F(CandidateTest, RepeatsStopAtTheTargetTimeOrAtTheMost) {
  const std::string slow = std::string("  usleep(2000);\n") + kRightAdd;
  const MeasureOptions target = {.min_repeats = 1, .target_time_ns = 20'000'000, .precision = 0};
  const Measurement to_target = MeasureOne(AddKernel(kSize, slow), target);
  EXPECT_GE(to_target.time_ns(), 2'000'000);
  // Calls that others disturb are made up for, and their times are not among these.
  if (!to_target.is_disturbed) {
    const std::vector<int64_t>& times = to_target.times_ns;
    EXPECT_LT(std::accumulate(times.begin(), times.end() - 1, int64_t{0}), target.target_time_ns);
  }
  const MeasureOptions most = {.min_repeats = 1, .target_time_ns = 1'000'000'000, .max_repeats = 7};
  const Measurement repeated = MeasureOne(RightAddKernel(kSize), most);
  EXPECT_THAT(repeated.times_ns, SizeIs(AllOf(Ge(1u), Le(7u))));
}

TEST_F(CandidateTest, ACandidateThatIsFarSlowerThanTheBestIsNotRepeated) {
  const std::string slow = std::string("  usleep(50000);\n") + kRightAdd;
  const MeasureOptions options = {.best_so_far_ns = 1'000'000};
  const Measurement measurement = MeasureOne(AddKernel(kSize, slow), options);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk);
  EXPECT_THAT(measurement.times_ns, SizeIs(1));
}

TEST_F(CandidateTest, AFastCandidateIsNotJudgedByItsFirstCall) {
  const std::string slow_start =
      std::string("  static int calls;\n  if (calls++ == 0) usleep(10000);\n") + kRightAdd;
  const MeasureOptions options = {.best_so_far_ns = 1'000'000};
  const Measurement measurement = MeasureOne(AddKernel(kSize, slow_start), options);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk);
  EXPECT_GE(measurement.times_ns.size(), 3u);
}

TEST_F(CandidateTest, OneWrongElementIsFound) {
  const Measurement measurement = MeasureBad(std::string(kRightAdd) + "  out[617] += 1;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT(measurement.reason, HasSubstr("out[617]"));
  EXPECT_THAT(measurement.reason, HasSubstr("expected"));
  EXPECT_THAT(measurement.reason, HasSubstr("got"));
}

TEST_F(CandidateTest, AnElementThatIsNotWrittenIsFound) {
  const Measurement measurement =
      MeasureBad("  for (int64_t i = 0; i < n - 1; ++i) out[i] = a[i] + b[i];\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT(measurement.reason, HasSubstr("out[999]"));
}

TEST_F(CandidateTest, NanNeverPasses) {
  const Measurement measurement = MeasureBad(std::string(kRightAdd) + "  out[0] = NAN;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT(measurement.reason, HasSubstr("got nan"));
}

TEST_F(CandidateTest, ResultsThatAreRightOnlyTheFirstTimeAreFound) {
  const Measurement measurement = MeasureBad(
      "  static int calls;\n"
      "  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i] + (calls > 0);\n"
      "  ++calls;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
}

TEST_F(CandidateTest, AddingToWhatWasInTheOutputIsFound) {
  const Measurement measurement =
      MeasureBad("  for (int64_t i = 0; i < n; ++i) out[i] += a[i] + b[i];\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
}

TEST_F(CandidateTest, ReadingScratchThatWasNotWrittenIsFound) {
  const Measurement measurement = MeasureBad(
      "  const float* s = scratch;\n"
      "  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i] + s[i];\n",
      {}, 4 * kSize);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
}

TEST_F(CandidateTest, ACrashIsNamed) {
  const Measurement measurement = MeasureBad("  *(volatile int*)0 = 1;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCrash);
  EXPECT_THAT(measurement.reason, HasSubstr("SIGSEGV"));
  EXPECT_THAT(measurement.reason, HasSubstr("address 0x0"));
  EXPECT_THAT(MeasureBad("  abort();\n").reason, HasSubstr("SIGABRT"));
  EXPECT_THAT(MeasureBad("  raise(SIGFPE);\n").reason, HasSubstr("SIGFPE"));
}

TEST_F(CandidateTest, AnInfiniteLoopIsATimeout) {
  const int64_t start = NowNs();
  const Measurement measurement =
      MeasureBad("  for (volatile int i = 0;; i = i + 1) {}\n", {.run_limit_ns = 300'000'000});
  EXPECT_LT(NowNs() - start, 20'000'000'000);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kTimeout);
  EXPECT_EQ(measurement.reason, "did not end within 0.3 s");
}

TEST_F(CandidateTest, AStoppedKernelIsATimeout) {
  const Measurement measurement = MeasureBad("  raise(SIGSTOP);\n", {.run_limit_ns = 300'000'000});
  EXPECT_EQ(measurement.outcome, TrialOutcome::kTimeout);
}

TEST_F(CandidateTest, AWriteJustBehindTheBufferIsFound) {
  const Measurement measurement = MeasureBad(std::string(kRightAdd) + "  out[n] = 1;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOutOfBounds);
  EXPECT_THAT(measurement.reason, HasSubstr("output out"));
  EXPECT_THAT(measurement.reason, HasSubstr("0 bytes behind its end"));
}

TEST_F(CandidateTest, AWriteInFrontOfTheBufferIsFound) {
  const Measurement measurement = MeasureBad(std::string(kRightAdd) + "  out[-2] = 1;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOutOfBounds);
  EXPECT_THAT(measurement.reason, HasSubstr("bytes in front of its start"));
}

TEST_F(CandidateTest, AWriteBehindTheScratchMemoryIsFound) {
  const Measurement measurement =
      MeasureBad(std::string(kRightAdd) + "  ((char*)scratch)[100] = 1;\n", {}, 100);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOutOfBounds);
  EXPECT_THAT(measurement.reason, HasSubstr("scratch memory was overrun: byte 100"));
}

TEST_F(CandidateTest, AWriteFarBehindTheBufferSaysWhere) {
  const Measurement measurement = MeasureBad("  out[n + 1000] = 1;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCrash);
  EXPECT_THAT(measurement.reason, HasSubstr("write to output out, 4000 bytes behind its end"));
}

TEST_F(CandidateTest, AWriteToAnInputSaysSo) {
  const Measurement measurement = MeasureBad(std::string(kRightAdd) + "  ((float*)b)[3] = 1;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCrash);
  EXPECT_THAT(measurement.reason, HasSubstr("write to input b at byte 12"));
}

TEST_F(CandidateTest, AReadBehindAnInputIsFound) {
  const Measurement measurement = MeasureBad("  out[0] = *(volatile float*)(a + n + 32);\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCrash);
  EXPECT_THAT(measurement.reason, HasSubstr("read of input a, 128 bytes behind its end"));
}

TEST_F(CandidateTest, EndingTheProcessIsNoSuccess) {
  EXPECT_EQ(MeasureBad(std::string(kRightAdd) + "  exit(0);\n").outcome, TrialOutcome::kCrash);
  const Measurement measurement = MeasureBad("  _exit(0);\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCrash);
  EXPECT_EQ(measurement.reason, "the kernel ended its process with exit status 0");
}

TEST_F(CandidateTest, ClosingAllDescriptorsHarmsNothing) {
  const Measurement measurement = MeasureOne(
      AddKernel(kSize, std::string("  for (int f = 0; f < 1000; ++f) close(f);\n") + kRightAdd));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
}

TEST_F(CandidateTest, ACompileErrorIsQuoted) {
  const Measurement measurement = MeasureBad("  out[0] = undeclared;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCompileError);
  EXPECT_THAT(measurement.reason, HasSubstr("undeclared"));
}

TEST_F(CandidateTest, AKernelWithoutItsFunctionsCannotBeLaunched) {
  Kernel kernel = RightAddKernel(kSize);
  kernel.source = "int mdh_add(void* a, void* b, void* c, void* d) { return 0; }\n";
  const Measurement no_scratch = MeasureOne(kernel);
  EXPECT_EQ(no_scratch.outcome, TrialOutcome::kLaunchError);
  EXPECT_THAT(no_scratch.reason, HasSubstr("mdh_add_scratch_bytes"));
  kernel = AddKernel(kSize, "  extern int not_there(void); return not_there();\n");
  const Measurement unresolved = MeasureOne(kernel);
  EXPECT_EQ(unresolved.outcome, TrialOutcome::kLaunchError);
  EXPECT_THAT(unresolved.reason, HasSubstr("not_there"));
}

TEST_F(CandidateTest, HugeScratchMemoryIsALaunchError) {
  const Measurement measurement = MeasureBad(kRightAdd, {}, int64_t{1} << 50);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kLaunchError);
  EXPECT_THAT(measurement.reason, HasSubstr("1125899906842624 bytes is not available"));
  EXPECT_EQ(MeasureBad(kRightAdd, {}, -5).outcome, TrialOutcome::kLaunchError);
}

TEST_F(CandidateTest, AnAllocationThatFailsInTheKernelIsALaunchError) {
  const Measurement measurement = MeasureBad(
      "  void* memory = mmap(NULL, (size_t)1 << 46, PROT_READ | PROT_WRITE,\n"
      "                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);\n"
      "  if (memory == MAP_FAILED) return 1;\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kLaunchError);
  EXPECT_THAT(measurement.reason, HasSubstr("could not allocate"));
  EXPECT_THAT(MeasureBad("  return 5;\n").reason, HasSubstr("returned 5"));
}

TEST_F(CandidateTest, ScratchMemoryIsAlignedAndLargeEnough) {
  const Measurement measurement =
      MeasureOne(AddKernel(kSize,
                           "  if ((uintptr_t)scratch % 64 != 0) return 2;\n"
                           "  float* s = scratch;\n"
                           "  for (int64_t i = 0; i < n; ++i) s[i] = a[i] + b[i];\n"
                           "  memcpy(out, s, n * sizeof(float));\n",
                           4 * kSize));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
}

TEST_F(CandidateTest, ThreadsAreThoseOfTheDevice) {
  Kernel kernel = AddKernel(kSize,
                            "  int threads = 0;\n"
                            "#pragma omp parallel reduction(+ : threads)\n"
                            "  threads += 1;\n"
                            "  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];\n"
                            "  return threads + 100;\n");
  kernel.compile_options = {"-O1", "-fopenmp"};
  EXPECT_EQ(MeasureOne(kernel).reason,
            "the kernel returned " + std::to_string(100 + runner_->device().cores));
}

TEST_F(CandidateTest, MeasurementsComeInTheOrderOfTheKernels) {
  std::vector<Kernel> kernels;
  for (int k = 0; k < 6; ++k) {
    kernels.push_back(AddKernel(kSize, "  return " + std::to_string(10 + k) + ";\n"));
  }
  const std::vector<Measurement> measured = *runner_->Measure(kernels, {});
  for (int k = 0; k < 6; ++k) {
    EXPECT_THAT(measured[k].reason, HasSubstr(std::to_string(10 + k)));
  }
  EXPECT_THAT(*runner_->Measure({}, {}), IsEmpty());
}

TEST_F(CandidateTest, InterruptEndsTheRunSoon) {
  const Kernel endless = AddKernel(kSize, "  while (1) usleep(1000);\n");
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    runner_->Interrupt();
  });
  const int64_t start = NowNs();
  const std::vector<Measurement> measured =
      *runner_->Measure({endless, RightAddKernel(kSize)}, {.run_limit_ns = 100'000'000'000});
  other.join();
  EXPECT_LT(NowNs() - start, 20'000'000'000);
  EXPECT_EQ(measured[0].outcome, TrialOutcome::kTimeout);
  EXPECT_EQ(measured[0].reason, "cancelled");
  // Perhaps it was compiled, and measured, first.
  EXPECT_THAT(measured[1].reason, AnyOf(IsEmpty(), "cancelled"));
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
}

TEST_F(CandidateTest, ChildrenOfAKernelEndWithIt) {
  const Measurement measurement =
      MeasureBad("  for (int c = 0; c < 4; ++c) if (fork() == 0) while (1) sleep(1);\n");
  EXPECT_NE(measurement.outcome, TrialOutcome::kOk);
  // They are killed with it, which takes a moment.
  const int64_t deadline = NowNs() + 5'000'000'000;
  while (Descendants() != DescendantsNamed("mdh-runner") && NowNs() < deadline) usleep(1000);
  EXPECT_EQ(Descendants(), DescendantsNamed("mdh-runner"));
}

TEST_F(CandidateTest, GarbageThatAKernelPrintsGoesNowhere) {
  const Measurement measurement = MeasureOne(AddKernel(
      kSize, std::string("  for (int fd = 0; fd < 64; ++fd) {\n"
                         "    if (write(fd, \"garbage garbage garbage\", 23) < 0) continue;\n"
                         "  }\n") +
                 kRightAdd));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
}

TEST_F(CandidateTest, AKernelThatTakesAllMemoryIsStoppedByItsLimit) {
  const Measurement measurement = MeasureBad(
      "  for (int64_t gib = 0;; ++gib) {\n"
      "    if (mmap(0, (size_t)1 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==\n"
      "        MAP_FAILED) abort();\n"
      "  }\n");
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCrash);
  EXPECT_THAT(measurement.reason, HasSubstr("SIGABRT"));
}

TEST_F(CandidateTest, InterruptWithoutARunChangesNothing) {
  runner_->Interrupt();
  EXPECT_EQ(MeasureOne(RightAddKernel(kSize)).outcome, TrialOutcome::kOk);
}

}  // namespace
}  // namespace mdh::runner_test

// Candidates on OpenCL and CUDA devices, right and wrong: each is classified, and the runner goes
// on.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/device/device_description.h"
#include "core/device/unit_peaks.h"
#include "gmock/gmock.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/device_runner_fixture.h"
#include "tests/tuner/processes.h"
#include "tuner/device/cuda/nvcc.h"
#include "tuner/process/clock.h"

namespace mdh::runner_device_test {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_P(DeviceRunner, DescribesTheDevice) {
  EXPECT_EQ(runner_->device().kind, is_cuda() ? DeviceKind::kCuda : DeviceKind::kOpenCl);
  EXPECT_TRUE(ValidateDevice(runner_->device()).ok());
  EXPECT_TRUE(runner_->Health().ok());
}

TEST_P(DeviceRunner, ARightKernelIsTimed) {
  const MeasureOptions options = {
      .min_repeats = 5, .target_time_ns = 0, .max_repeats = 100, .precision = 0};
  const Measurement measurement = MeasureOne(Right(), options);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
  // Where the host's own cores are the device, calls that others disturbed do not count.
  EXPECT_GE(measurement.times_ns.size(), RunsOnHost(runner_->device()) ? 1u : 5u);
  if (!measurement.is_disturbed) EXPECT_LE(measurement.times_ns.size(), 5u);
  EXPECT_THAT(measurement.times_ns, Each(Gt(0)));
  EXPECT_GT(measurement.calls_per_time, 1);  // it is short
  EXPECT_GT(measurement.compile_ns, 0);
  EXPECT_LE(measurement.interval().low_ns, measurement.time_ns());
  EXPECT_GE(measurement.interval().high_ns, measurement.time_ns());
}

TEST_P(DeviceRunner, CallsWithColdCachesTakeTurnsOnSeveralBuffers) {
  const Measurement right = MeasureOne(Right(), {.cache = CacheState::kCold});
  EXPECT_EQ(right.outcome, TrialOutcome::kOk) << right.reason;
  // Wrong once it has seen its input in two places. The first call leaves the place behind; scratch
  // memory is full of ones before it.
  const Kernel moved = Make(
      "  GLOBAL ulong64* seen = (GLOBAL ulong64*)scratch;\n"
      "  if (i == 0 && seen[0] == ~(ulong64)0) seen[0] = (ulong64)a;\n"
      "  if (i == 0 && seen[0] != (ulong64)a) seen[1] = 7;\n"
      "  if (i < n) out[i] = seen[1] == 7 ? 0.0f : a[i] + b[i];\n",
      16);
  EXPECT_EQ(MeasureOne(moved, {.cache = CacheState::kWarm}).outcome, TrialOutcome::kOk);
  EXPECT_EQ(MeasureOne(moved, {.cache = CacheState::kCold}).outcome, TrialOutcome::kWrongResult);
}

TEST_P(DeviceRunner, WrongByOneElement) {
  const Measurement measurement =
      MeasureBad(Make(std::string(kRightDeviceAdd) + "  if (i == n / 2) out[i] += 1;\n"));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT(measurement.reason, HasSubstr("out[500]"));
}

TEST_P(DeviceRunner, WrongOnASecondCallOnly) {
  const Measurement measurement =
      MeasureBad(Make("  if (i < n) out[i] = scratch[0] == 7 ? 0.0f : a[i] + b[i];\n"
                      "  if (i == n - 1) scratch[0] = 7;\n",
                      16));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
}

TEST_P(DeviceRunner, NanIsWrong) {
  const Measurement measurement = MeasureBad(
      Make(std::string(kRightDeviceAdd) + "  if (i == 3) out[i] = 0.0f / (a[0] - a[0]);\n"));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kWrongResult);
  EXPECT_THAT(measurement.reason, HasSubstr("out[3]"));
}

TEST_P(DeviceRunner, UntouchedElementsAreWrong) {
  EXPECT_EQ(MeasureBad(Make("  if (i < n - 1) out[i] = a[i] + b[i];\n")).outcome,
            TrialOutcome::kWrongResult);
}

TEST_P(DeviceRunner, WritesBehindAndInFrontOfTheOutput) {
  const Measurement behind =
      MeasureBad(Make("  if (i <= n) out[i] = a[i < n ? i : 0] + b[i < n ? i : 0];\n"));
  EXPECT_EQ(behind.outcome, TrialOutcome::kOutOfBounds);
  EXPECT_THAT(behind.reason,
              HasSubstr("output out was overrun: byte 4000, 0 bytes behind its end"));
  const Measurement before =
      MeasureBad(Make(std::string(kRightDeviceAdd) + "  if (i == 0) out[-2] = 1;\n"));
  EXPECT_EQ(before.outcome, TrialOutcome::kOutOfBounds);
  EXPECT_THAT(before.reason, HasSubstr("in front of its start"));
}

TEST_P(DeviceRunner, WritesBehindScratchMemory) {
  const Measurement measurement =
      MeasureBad(Make(std::string(kRightDeviceAdd) + "  if (i == 0) scratch[64] = 1;\n", 64));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOutOfBounds);
  EXPECT_THAT(measurement.reason, HasSubstr("scratch memory was overrun: byte 64"));
}

TEST_P(DeviceRunner, WritesToAnInput) {
  const Measurement measurement = MeasureBad(
      Make(std::string(kRightDeviceAdd) + "  if (i == 0) ((GLOBAL float*)b)[7] = 99;\n"));
  EXPECT_THAT(measurement.outcome, AnyOf(TrialOutcome::kOutOfBounds, TrialOutcome::kWrongResult));
  EXPECT_THAT(measurement.reason, HasSubstr("input b was written at byte "));
}

// GPUs: an error that sticks to the context. PoCL: the executor's end.
TEST_P(DeviceRunner, ACrash) {
  const Measurement measurement =
      MeasureBad(Make(std::string(kRightDeviceAdd) + "  if (i == 0) out[1L << 40] = 1;\n"));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCrash) << measurement.reason;
  const bool is_gpu = runner_->device().blocks.warp_size > 1;
  EXPECT_THAT(measurement.reason, HasSubstr(is_cuda() ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                            : is_gpu  ? "CL_"
                                                      : "SIGSEGV"));
}

TEST_P(DeviceRunner, ManyCrashesInARowDoNotMakeTheDeviceUnhealthy) {
  std::vector<Kernel> kernels;
  for (int k = 0; k < 5; ++k) {
    kernels.push_back(Make(absl::StrCat("  out[(1L << 40) + ", k, "] = 1;\n")));
  }
  kernels.push_back(Right());
  const Result<std::vector<Measurement>> measured = runner_->Measure(kernels, {});
  ASSERT_TRUE(measured.ok()) << measured.status();
  for (int k = 0; k < 5; ++k) EXPECT_EQ((*measured)[k].outcome, TrialOutcome::kCrash);
  EXPECT_EQ((*measured)[5].outcome, TrialOutcome::kOk) << (*measured)[5].reason;
  EXPECT_TRUE(runner_->Health().ok());
}

TEST_P(DeviceRunner, AHang) {
  const int64_t start_ns = NowNs();
  const Measurement measurement =
      MeasureBad(Make("  volatile GLOBAL float* never = out;\n  while (never[0] != 12345.0f) ;\n"),
                 {.run_limit_ns = 500'000'000});
  EXPECT_EQ(measurement.outcome, TrialOutcome::kTimeout);
  EXPECT_THAT(measurement.reason, HasSubstr("did not end within 0.5 s"));
  EXPECT_LT(NowNs() - start_ns, 100'000'000'000);
}

TEST_P(DeviceRunner, ACompileError) {
  const Measurement measurement = MeasureBad(Make("  no_such_name = 1;\n"));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCompileError);
  EXPECT_THAT(measurement.reason, HasSubstr("no_such_name"));
}

TEST_P(DeviceRunner, NvccCompilesToo) {
  if (!is_cuda()) GTEST_SKIP() << "nvcc is for CUDA devices";
  const Result<Nvcc> nvcc = Nvcc::Find(Nvcc::ToolkitFolders(""));
  if (!nvcc.ok()) GTEST_SKIP() << nvcc.status();
  Kernel kernel = Right();
  kernel.compiler = Compiler::kNvcc;
  const Measurement measurement = MeasureOne(kernel);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOk) << measurement.reason;
  kernel = Make("  no_such_name = 1;\n");
  kernel.compiler = Compiler::kNvcc;
  const Measurement wrong = MeasureBad(kernel);
  EXPECT_EQ(wrong.outcome, TrialOutcome::kCompileError);
  EXPECT_THAT(wrong.reason, HasSubstr("no_such_name"));
}

TEST_P(DeviceRunner, AFunctionThatIsMissing) {
  Kernel kernel = Right();
  kernel.launches[0].function = "mdh_other";
  const Measurement measurement = MeasureBad(kernel);
  EXPECT_EQ(measurement.outcome, TrialOutcome::kLaunchError) << measurement.reason;
  EXPECT_THAT(measurement.reason, HasSubstr("mdh_other"));
}

TEST_P(DeviceRunner, AnotherLanguage) {
  const Measurement measurement = MeasureBad(RightAddKernel(kSize));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kCompileError);
  EXPECT_THAT(measurement.reason, HasSubstr("cannot compile OpenMP C"));
}

TEST_P(DeviceRunner, TooLargeABlock) {
  Kernel kernel = Right();
  kernel.launches[0].geometry.block[0] = 1 << 20;
  EXPECT_EQ(MeasureBad(kernel).outcome, TrialOutcome::kOutOfResources);
}

TEST_P(DeviceRunner, TooMuchMemory) {
  const Measurement measurement = MeasureBad(Make(kRightDeviceAdd, int64_t{1} << 50));
  EXPECT_EQ(measurement.outcome, TrialOutcome::kOutOfResources) << measurement.reason;
}

TEST_P(DeviceRunner, InterruptEndsTheRunSoon) {
  const Kernel endless =
      Make("  volatile GLOBAL float* never = out;\n  while (never[0] != 12345.0f) ;\n");
  std::thread other([&] {
    usleep(1'500'000);
    runner_->Interrupt();
  });
  const int64_t start_ns = NowNs();
  const Result<std::vector<Measurement>> measured =
      runner_->Measure({endless}, {.run_limit_ns = 100'000'000'000});
  other.join();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_LT(NowNs() - start_ns, 60'000'000'000);
  EXPECT_EQ((*measured)[0].reason, "cancelled");
  EXPECT_EQ(MeasureOne(Right()).outcome, TrialOutcome::kOk);
}

TEST_P(DeviceRunner, LargeProblemsTakeTheirReferenceFromTheDevice) {
  const Status status = runner_->SetProblem(MatMulExpression(150, 130, 140), 1);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(*runner_->LoopNestTime(), 0);
}

TEST_P(DeviceRunner, PeaksAreSensible) {
  const Result<MachinePeaks> peaks = runner_->Peaks();
  ASSERT_TRUE(peaks.ok()) << peaks.status();
  EXPECT_GT(peaks->fp32_flops_per_s, 1e8);
  EXPECT_LT(peaks->fp32_flops_per_s, 1e15);
  EXPECT_LT(peaks->fp64_flops_per_s, 1e15);
  // On cores that other processes use, too, either of them may be measured while these do much.
  if (std::string(GetParam()) == "cuda") {
    EXPECT_LT(peaks->fp64_flops_per_s, 1.5 * peaks->fp32_flops_per_s);
  }
  EXPECT_GT(peaks->memory_bytes_per_s, 1e8);
  EXPECT_LT(peaks->memory_bytes_per_s, 1e14);
  EXPECT_GT(peaks->copy_bytes_per_s, 1e8);
  const DeviceDescription& device = runner_->device();
  // Units reach what is specified at the clock of the moment, and no more.
  for (const MatrixInstruction& instruction : FastestInstructions(device)) {
    const double specified = 2 * MultiplyAddsPerCycle(instruction, device) *
                             device.blocks.multiprocessors * device.clock_hz;
    EXPECT_GT(peaks->units.*PeakOf(instruction), 0.5 * specified) << instruction.name;
    EXPECT_LT(peaks->units.*PeakOf(instruction), 1.1 * specified) << instruction.name;
  }
  EXPECT_GT(peaks->launch_overhead_ns, 10);
  EXPECT_LT(peaks->launch_overhead_ns, 1e8);
  // A kernel goes on after that.
  EXPECT_EQ(MeasureOne(Right()).outcome, TrialOutcome::kOk);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceRunner, ::testing::Values("opencl", "cuda"),
                         [](const auto& info) { return info.param; });

TEST(DeviceRunnerSelector, UnknownDevicesAreRefused) {
  RunnerOptions options;
  options.program = RunnerProgram();
  const TemporaryDirectory directory;
  options.work_directory = directory.File("runner");
  options.device = "tpu:0";
  EXPECT_EQ(Runner::Start(options).status().code(), absl::StatusCode::kInvalidArgument);
  for (const char* device : {"opencl:77", "cuda:77"}) {
    options.device = device;
    const Status status = Runner::Start(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(device));
  }
  EXPECT_THAT(Descendants(), IsEmpty());
}

}  // namespace
}  // namespace mdh::runner_device_test

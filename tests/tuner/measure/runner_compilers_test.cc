// Workers that compile for CUDA, which need no device: kernels of our own, errors, limits.
#include "codegen/program/kernel.h"
#include "core/device/unit_peaks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/device_kernels.h"
#include "tests/tuner/processes.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/measure/compile/compile_worker.h"
#include "tuner/measure/compile/device_compilers.h"
#include "tuner/measure/compile/joined_unit.h"
#include "tuner/measure/executor/device_kernels.h"
#include "tuner/measure/plain_kernel.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh::runner_compilers_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kLimit = 120'000'000'000;

constexpr char kLong[] =
    "  float x = a[0];\n"
    "  #pragma unroll\n"
    "  for (int k = 0; k < 20000; ++k) x = x * b[k % 100] + b[(k * 7) % 100];\n"
    "  if (i < n) out[i] = x;\n";

class CudaCompilers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { PrepareToSupervise(); }
  void SetUp() override {
    const Result<Nvrtc> nvrtc = Nvrtc::Load(Nvrtc::ToolkitFolders(""));
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    options_.selector.kind = DeviceKind::kCuda;
    options_.device = *DescribeCudaArchitecture(90);
  }
  void TearDown() override { EXPECT_THAT(DescendantsNamed("mdh-compile"), IsEmpty()); }

  DeviceCompilers Compilers(int workers) const {
    const ChildLimits limits = {.nice = 5, .no_network = true, .name = "mdh-compile"};
    return DeviceCompilers([this] { return ServeCompilations(options_); }, limits, workers);
  }
  DeviceCompileOutcome Compile(const Kernel& kernel, int64_t limit_ns = kLimit) {
    DeviceCompilers compilers = Compilers(1);
    return *compilers.Compile(ToMessage(kernel), limit_ns, supervisor_);
  }

  CompileWorkerOptions options_;
  PatientSupervisor supervisor_;
};

TEST_F(CudaCompilers, KernelsOfOurOwnCompile) {
  const DeviceDescription& device = options_.device;
  std::vector<Kernel> kernels = {CanaryKernel(DeviceKind::kCuda),
                                 EmptyKernel(device).kernel,
                                 ArithmeticPeakKernel(device, ScalarType::kFloat32).kernel,
                                 ArithmeticPeakKernel(device, ScalarType::kFloat64).kernel,
                                 ReadPeakKernel(device, 1 << 20).kernel,
                                 CopyPeakKernel(device, 1 << 20).kernel};
  for (const MatrixInstruction& instruction : FastestInstructions(device)) {
    kernels.push_back(UnitPeakKernel(device, instruction).kernel);
  }
  const Result<Kernel> plain =
      GeneratePlainKernel(MatMulExpression(70, 80, 90), device, NumericsPolicy::kReassociate);
  ASSERT_TRUE(plain.ok()) << plain.status();
  kernels.push_back(*plain);
  DeviceCompilers compilers = Compilers(2);
  for (size_t k = 0; k < kernels.size(); ++k) {
    compilers.Add(static_cast<int64_t>(k), ToMessage(kernels[k]), {.compile_limit_ns = kLimit});
  }
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto number = static_cast<int64_t>(k);
    while (compilers.Find(number) == nullptr) {
      ASSERT_TRUE(compilers.Advance().ok());
      supervisor_.WaitFor(compilers.Sockets(), 50'000'000);
    }
    const DeviceCompileOutcome& outcome = *compilers.Find(number);
    EXPECT_EQ(outcome.outcome, TrialOutcome::kOk) << outcome.reason << kernels[k].source;
    EXPECT_FALSE(outcome.binary.empty());
  }
}

TEST_F(CudaCompilers, ErrorsAreQuoted) {
  const DeviceCompileOutcome outcome = Compile(AddDeviceKernel(true, 100, "  no_such_name = 1;\n"));
  EXPECT_EQ(outcome.outcome, TrialOutcome::kCompileError);
  EXPECT_THAT(outcome.reason, HasSubstr("no_such_name"));
}

TEST_F(CudaCompilers, LaunchesBeyondTheDevicesLimitsAreOutOfResources) {
  Kernel kernel = AddDeviceKernel(true, 100, kRightDeviceAdd);
  kernel.launches[0].geometry.block[0] = 4096;
  EXPECT_EQ(Compile(kernel).outcome, TrialOutcome::kOutOfResources);
}

// Whatever is launched beyond them would fail; the compiler says so before.
TEST_F(CudaCompilers, FunctionsBeyondTheDevicesLimitsAreOutOfResources) {
  options_.device.blocks.registers_per_block = 256;
  const DeviceCompileOutcome outcome = Compile(AddDeviceKernel(true, 100, kRightDeviceAdd));
  EXPECT_EQ(outcome.outcome, TrialOutcome::kOutOfResources);
  EXPECT_THAT(outcome.reason, HasSubstr("mdh_add_0: 64 threads with "));
  EXPECT_THAT(outcome.reason, HasSubstr(" is 256"));
}

TEST_F(CudaCompilers, ACompilationThatLastsTooLongIsStopped) {
  const DeviceCompileOutcome outcome = Compile(AddDeviceKernel(true, 100, kLong), 1'000'000);
  EXPECT_EQ(outcome.outcome, TrialOutcome::kCompileError);
  EXPECT_THAT(outcome.reason, HasSubstr("compiling took longer than"));
}

TEST_F(CudaCompilers, WhatWasCompiledIsNotCompiledAgain) {
  DeviceCompilers compilers = Compilers(1);
  const v1::RunnerKernel kernel = ToMessage(AddDeviceKernel(true, 100, kRightDeviceAdd));
  const DeviceCompileOutcome first = *compilers.Compile(kernel, kLimit, supervisor_);
  EXPECT_GT(first.compile_ns, 0);
  const DeviceCompileOutcome second = *compilers.Compile(kernel, kLimit, supervisor_);
  EXPECT_EQ(second.compile_ns, 0);
  EXPECT_EQ(second.binary, first.binary);
  ASSERT_EQ(first.functions.size(), 1u);
  EXPECT_EQ(first.functions[0].function, "mdh_add_0");
  EXPECT_EQ(second.functions, first.functions);
}

// With one worker, which has to do something before they all wait.
TEST_F(CudaCompilers, KernelsThatMayShareAUnitAreOneBinary) {
  DeviceCompilers compilers = Compilers(1);
  const MeasureOptions shared = {.compile_limit_ns = kLimit, .may_share_unit = true};
  const std::string wrong = "  no_such_name = 1;\n", twice = "  if (i < n) out[i] = 2 * a[i];\n";
  const std::vector<std::string> statements = {kRightDeviceAdd, kRightDeviceAdd, twice, wrong};
  const auto compile = [&](int64_t first, size_t count, const MeasureOptions& options) {
    std::vector<DeviceCompileOutcome> outcomes;
    for (size_t k = 0; k < count; ++k) {
      compilers.Add(first + static_cast<int64_t>(k),
                    ToMessage(AddDeviceKernel(true, 100 + static_cast<int>(first), statements[k])),
                    options);
    }
    for (size_t k = 0; k < count; ++k) {
      const int64_t number = first + static_cast<int64_t>(k);
      while (compilers.Find(number) == nullptr) {
        EXPECT_TRUE(compilers.Advance().ok());
        supervisor_.WaitFor(compilers.Sockets(), 50'000'000);
      }
      outcomes.push_back(*compilers.Find(number));
      compilers.Forget(number);
    }
    return outcomes;
  };
  const std::vector<DeviceCompileOutcome> together = compile(0, 3, shared);
  for (size_t k = 0; k < together.size(); ++k) {
    EXPECT_EQ(together[k].outcome, TrialOutcome::kOk) << together[k].reason;
    EXPECT_EQ(together[k].suffix, NameSuffix(k));
    EXPECT_EQ(together[k].binary, together[0].binary);
    ASSERT_EQ(together[k].functions.size(), 1u);
    EXPECT_EQ(together[k].functions[0].function, "mdh_add_0");
    EXPECT_THAT(together[k].binary, HasSubstr("mdh_add_0" + NameSuffix(k)));
  }
  // Who asks for one of its own gets it.
  const DeviceCompileOutcome alone = compile(0, 1, {.compile_limit_ns = kLimit})[0];
  EXPECT_EQ(alone.suffix, "");
  EXPECT_NE(alone.binary, together[0].binary);
  // What is wrong with one of them is not the others' fault.
  const std::vector<DeviceCompileOutcome> mixed = compile(20, 4, shared);
  EXPECT_EQ(mixed[0].outcome, TrialOutcome::kOk) << mixed[0].reason;
  EXPECT_EQ(mixed[2].outcome, TrialOutcome::kOk) << mixed[2].reason;
  EXPECT_EQ(mixed[3].outcome, TrialOutcome::kCompileError);
  EXPECT_THAT(mixed[3].reason, HasSubstr("no_such_name"));
}

// The first one's limit is that of the unit.
TEST_F(CudaCompilers, AUnitThatLastsTooLongIsTriedAsSeveral) {
  DeviceCompilers compilers = Compilers(1);
  compilers.Add(1, ToMessage(AddDeviceKernel(true, 100, kLong)),
                {.compile_limit_ns = 1'000'000, .may_share_unit = true});
  compilers.Add(2, ToMessage(AddDeviceKernel(true, 200, kRightDeviceAdd)),
                {.compile_limit_ns = kLimit, .may_share_unit = true});
  for (const int64_t number : {1, 2}) {
    while (compilers.Find(number) == nullptr) {
      ASSERT_TRUE(compilers.Advance().ok());
      supervisor_.WaitFor(compilers.Sockets(), 50'000'000);
    }
  }
  EXPECT_THAT(compilers.Find(1)->reason, HasSubstr("compiling took longer than 0.001 s"));
  EXPECT_EQ(compilers.Find(2)->outcome, TrialOutcome::kOk) << compilers.Find(2)->reason;
  EXPECT_EQ(compilers.Find(2)->suffix, "");
}

TEST_F(CudaCompilers, PausedCompilationsGoOnAfterwards) {
  DeviceCompilers compilers = Compilers(1);
  compilers.Add(7, ToMessage(AddDeviceKernel(true, 100, kRightDeviceAdd)),
                {.compile_limit_ns = kLimit});
  ASSERT_TRUE(compilers.Advance().ok());
  compilers.Pause();
  EXPECT_THAT(compilers.Sockets(), IsEmpty());
  supervisor_.Wait(100'000'000);
  ASSERT_TRUE(compilers.Advance().ok());
  EXPECT_EQ(compilers.Find(7), nullptr);
  compilers.Resume();
  while (compilers.Find(7) == nullptr) {
    ASSERT_TRUE(compilers.Advance().ok());
    supervisor_.WaitFor(compilers.Sockets(), 50'000'000);
  }
  EXPECT_EQ(compilers.Find(7)->outcome, TrialOutcome::kOk);
  compilers.Cancel();
  EXPECT_EQ(compilers.Find(7), nullptr);
}

}  // namespace
}  // namespace mdh::runner_compilers_test

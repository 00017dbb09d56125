// Kernels written by hand on every kind of device: results, guard zones, errors.
#include <cstdio>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/device/hand_written_kernels.h"
#include "tests/device/kernel_run.h"
#include "tests/error_message.h"
#include "tuner/device/opencl/opencl_device.h"
#include "tuner/device/opencl/opencl_gate.h"
#include "tuner/device/opencl/opencl_program.h"

namespace mdh::program_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ProgramTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<ComputeDevice>> found = FirstDevice(GetParam());
    if (!found.ok()) GTEST_SKIP() << found.status().message();
    device_ = *std::move(found);
  }
  Kernel MakeKernel(const std::string& mistake = "") const {
    return SumKernel(GetParam(), mistake);
  }
  Result<std::vector<BufferBytes>> Run(const Kernel& kernel, const KernelRunOptions& options = {}) {
    return RunKernelOnce(*device_, kernel, {SumInput()}, options);
  }

  std::unique_ptr<ComputeDevice> device_;
};

TEST_P(ProgramTest, RunsAllStages) {
  const auto outputs = Run(MakeKernel());
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0], SumOutput());
}

TEST_P(ProgramTest, RunsAgainOnPoisonedOutputs) {
  Result<KernelRun> run = KernelRun::Create(*device_, MakeKernel(), {SumInput()});
  ASSERT_TRUE(run.ok()) << run.status().message();
  for (int n = 0; n < 3; ++n) {
    ASSERT_EQ(ErrorMessage(run->Poison()), "no error");
    EXPECT_EQ((*run->Outputs())[0], BufferBytes(16, std::byte{0xA5}));
    ASSERT_EQ(ErrorMessage(run->Run()), "no error");
    EXPECT_EQ((*run->Outputs())[0], SumOutput());
  }
}

TEST_P(ProgramTest, RunsWithoutGuardZones) {
  KernelRunOptions options;
  options.guard_bytes = 0;
  const auto outputs = Run(MakeKernel(), options);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0], SumOutput());
}

TEST_P(ProgramTest, HasMemoryOfNoBytes) {
  for (const int64_t guard_bytes : {0, 256}) {
    Result<std::unique_ptr<DeviceMemory>> memory = device_->Allocate(0, guard_bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ((*memory)->bytes(), 0);
    EXPECT_TRUE((*memory)->Fill(std::byte{0xA5}).ok());
    EXPECT_TRUE((*memory)->Write({}).ok());
    BufferBytes all(static_cast<size_t>(2 * (*memory)->guard_bytes()));
    EXPECT_TRUE((*memory)->Read(0, absl::MakeSpan(all)).ok());
    EXPECT_EQ(all, BufferBytes(all.size(), std::byte{0xA5}));
  }
}

// Loops around barriers in blocks of two threads, on which one of PoCL's compilation methods ends
// the process.
TEST_P(ProgramTest, RunsLoopsAroundBarriersOfTinyBlocks) {
  std::vector<int32_t> in(28), out(kPair);
  for (int n = 0; n < 28; ++n) in[n] = n * n;
  for (int n = 0; n < kPair; ++n) out[n] = 3 * n * n;
  const auto outputs = RunKernelOnce(*device_, PairKernel(GetParam()), {BytesOf(in)});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0], BytesOf(out));
}

TEST_P(ProgramTest, SaysWhatWasWrittenOutside) {
  EXPECT_THAT(ErrorMessage(Run(MakeKernel("out[4 + i] = 1;"))),
              HasSubstr("wrote 0 bytes after the end of out"));
  EXPECT_THAT(ErrorMessage(Run(MakeKernel("if (i == 1) out[-1] = 1;"))),
              HasSubstr("bytes before out"));
  const std::string type = GetParam() ? "int*" : "__global int*";
  EXPECT_THAT(ErrorMessage(Run(MakeKernel("if (i == 1) ((" + type + ")scratch)[5] = 1;"))),
              HasSubstr("wrote 4 bytes after the end of the scratch memory"));
  EXPECT_THAT(ErrorMessage(Run(MakeKernel("((" + type + ")in)[i + 8] = 99;"))),
              HasSubstr("wrote to the input in"));
}

TEST_P(ProgramTest, GivesTheLogOfTheCompiler) {
  const auto outputs = Run(MakeKernel("no_such_name = 1;"));
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorMessage(outputs),
              AllOf(HasSubstr("no_such_name"),
                    HasSubstr(GetParam() ? "nvrtcCompileProgram" : "clBuildProgram")));
}

TEST_P(ProgramTest, NamesAFunctionThatIsMissing) {
  Kernel kernel = MakeKernel();
  kernel.launches[1].function = "mdh_other";
  EXPECT_THAT(ErrorMessage(Run(kernel)), HasSubstr("mdh_other"));
}

TEST_P(ProgramTest, RefusesALaunchThatExceedsALimit) {
  const BlockLimits& limits = device_->description().blocks;
  Kernel kernel = MakeKernel();
  kernel.launches[0].geometry.block = {limits.max_block[0], 2, 1};
  const auto threads = Run(kernel);
  EXPECT_EQ(threads.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ErrorMessage(threads), HasSubstr("mdh_sum_0: threads of a block are"));
  kernel.launches[0].geometry.block = {1, 1, limits.max_block[2] + 1};
  EXPECT_THAT(ErrorMessage(Run(kernel)), HasSubstr("threads of a block along z are"));
  kernel.launches[0].geometry = {{1, limits.max_grid[1] + 1, 1}, {64, 1, 1}};
  EXPECT_THAT(ErrorMessage(Run(kernel)), HasSubstr("blocks along y are"));
  kernel.launches[0].geometry = {{1, 0, 1}, {64, 1, 1}};
  EXPECT_THAT(ErrorMessage(Run(kernel)), HasSubstr("blocks along y are 0"));
  kernel = MakeKernel();
  kernel.launches[0].dynamic_shared_bytes = limits.shared_bytes_per_block + 1;
  EXPECT_THAT(ErrorMessage(Run(kernel)), HasSubstr("bytes of shared memory are"));
  kernel.launches.clear();
  EXPECT_THAT(ErrorMessage(Run(kernel)), HasSubstr("no launches"));
}

TEST_P(ProgramTest, RefusesAnotherLanguageAndWrongInputs) {
  EXPECT_THAT(ErrorMessage(Run(SumKernel(!GetParam()))), HasSubstr("device cannot compile"));
  EXPECT_THAT(ErrorMessage(RunKernelOnce(*device_, MakeKernel(), {})),
              HasSubstr("the kernel has 1 inputs, 0 are given"));
  EXPECT_THAT(ErrorMessage(RunKernelOnce(*device_, MakeKernel(), {BufferBytes(12)})),
              HasSubstr("input in has 12 bytes, it needs 4096"));
}

TEST_P(ProgramTest, SaysThatMemoryDoesNotSuffice) {
  Kernel kernel = MakeKernel();
  kernel.scratch_bytes = int64_t{1} << 50;
  const auto outputs = Run(kernel);
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_P(ProgramTest, DescribesTheDevice) {
  const DeviceDescription& description = device_->description();
  EXPECT_EQ(ErrorMessage(ValidateDevice(description)), "no error");
  EXPECT_EQ(description.kind, GetParam() ? DeviceKind::kCuda : DeviceKind::kOpenCl);
  EXPECT_GT(description.blocks.shared_bytes_per_block, 1024);
  EXPECT_NE(device_->platform(), "");
  EXPECT_NE(device_->driver(), "");
}

// Drivers may say less of a compiled kernel than they run: NVIDIA's say 256 threads of every one.
TEST(OpenClProgramTest, RunsBlocksOf1024Threads) {
  constexpr int kThreads = 1024;
  Result<std::unique_ptr<ComputeDevice>> device = FirstDevice(/*is_cuda=*/false);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  if ((*device)->description().blocks.max_threads_per_block < kThreads) {
    GTEST_SKIP() << "blocks of this device have fewer threads";
  }
  Kernel kernel = PairKernel(/*is_cuda=*/false);
  kernel.source =
      "__kernel __attribute__((reqd_work_group_size(1024, 1, 1)))\n"
      "void mdh_pair_0(__global const int* in, __global int* out) {\n"
      "  __local int copy[1024];\n  const int i = (int)get_local_id(0);\n  copy[i] = in[i];\n"
      "  barrier(CLK_LOCAL_MEM_FENCE);\n  out[i] = copy[1023 - i];\n}\n";
  kernel.arguments = {{"in", ScalarType::kInt32, kThreads, false},
                      {"out", ScalarType::kInt32, kThreads, true}};
  kernel.launches[0].geometry.block = {kThreads, 1, 1};
  std::vector<int32_t> in(kThreads), out(kThreads);
  for (int n = 0; n < kThreads; ++n) in[n] = out[kThreads - 1 - n] = n * n;
  const auto outputs = RunKernelOnce(**device, kernel, {BytesOf(in)});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0], BytesOf(out));
}

TEST(OpenClProgramTest, RefusesBlocksThatTheKernelDoesNotTake) {
  Result<std::unique_ptr<ComputeDevice>> device = FirstDevice(/*is_cuda=*/false);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  Kernel kernel = PairKernel(/*is_cuda=*/false);
  kernel.launches[0].geometry.block = {1, 1, 1};
  const auto outputs = RunKernelOnce(**device, kernel, {BytesOf(std::vector<int32_t>(28))});
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ErrorMessage(outputs),
              HasSubstr("mdh_pair_0: the compiled kernel takes no blocks of 1 x 1 x 1 threads"));
}

// PoCL's devices need no gate, and can have one.
TEST(OpenClGateTest, StaysClosedForAsLongAsItIsTold) {
  Result<std::unique_ptr<ComputeDevice>> device = FirstDevice(/*is_cuda=*/false);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  const auto& opencl = static_cast<const OpenClDevice&>(**device);
  OpenClGate gate(opencl.context());
  EXPECT_THAT(ErrorMessage(gate.ClosedTime()), HasSubstr("was not closed"));
  std::vector<double> times_ns;
  for (const double time_ns : {1e5, 1e5, 1e8}) {  // the first shows how fast the device is
    ASSERT_EQ(ErrorMessage(gate.Close(time_ns)), "no error");
    ASSERT_EQ(ErrorMessage((*device)->Finish()), "no error");
    const Result<double> closed_ns = gate.ClosedTime();
    ASSERT_TRUE(closed_ns.ok()) << closed_ns.status().message();
    times_ns.push_back(*closed_ns);
  }
  EXPECT_GT(times_ns[0], 0);
  EXPECT_GT(times_ns[2], times_ns[1]);
}

TEST(OpenClGateTest, ProgramsBehindItAreTimedAndRunAsOthers) {
  Result<std::unique_ptr<ComputeDevice>> device = FirstDevice(/*is_cuda=*/false);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  const auto& opencl = static_cast<const OpenClDevice&>(**device);
  OpenClGate gate(opencl.context());
  auto program = CompileOpenClKernel(opencl.context(), &gate, PairKernel(/*is_cuda=*/false));
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto in = (*device)->Allocate(28 * 4, 0), out = (*device)->Allocate(28 * 4, 0);
  ASSERT_TRUE(in.ok() && out.ok());
  ASSERT_EQ(ErrorMessage((*in)->Fill(std::byte{0})), "no error");
  const DeviceArguments arguments = {in->get(), out->get()};
  for (const int64_t calls : {1, 2, 100, 100}) {
    const Result<double> time_ns = (*program)->Time({&arguments, 1}, calls);
    ASSERT_TRUE(time_ns.ok()) << time_ns.status().message();
    EXPECT_GT(*time_ns, 0);
  }
}

TEST(CudaProgramTest, UsesDynamicSharedMemory) {
  Result<std::unique_ptr<ComputeDevice>> device = FirstDevice(/*is_cuda=*/true);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  Kernel kernel = SumKernel(/*is_cuda=*/true, "more[40000 + i] = i; out[i] += more[40000 + i];");
  kernel.source.insert(0, "extern __shared__ int more[];\n");
  kernel.launches[1].dynamic_shared_bytes = 40004 * 4;
  if (kernel.launches[1].dynamic_shared_bytes >
      (*device)->description().blocks.shared_bytes_per_block) {
    GTEST_SKIP() << "blocks of this device have less shared memory";
  }
  const auto outputs = RunKernelOnce(**device, kernel, {SumInput()});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0], BytesOf({32640, 98177, 163714, 229251}));
}

// Each stage waits itself for those before, where the device can let it start early.
TEST(CudaProgramTest, StagesThatStartEarlySeeWhatAllBeforeHaveWritten) {
  Result<std::unique_ptr<ComputeDevice>> device = FirstDevice(/*is_cuda=*/true);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  Result<KernelRun> run = KernelRun::Create(**device, EarlyKernel(), {BytesOf({7})});
  ASSERT_TRUE(run.ok()) << run.status().message();
  for (int n = 0; n < 20; ++n) {
    ASSERT_EQ(ErrorMessage(run->Poison()), "no error");
    ASSERT_EQ(ErrorMessage(run->Run()), "no error");
    EXPECT_EQ((*run->Outputs())[0], BytesOf({14 + 7, 16 + 7, 18 + 7, 20 + 7}));
  }
}

// In a process of its own: a fault leaves the device unusable for the one that it happened in.
TEST(CudaProgramDeathTest, ReportsAFault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (const auto device = FirstDevice(/*is_cuda=*/true); !device.ok()) {
    GTEST_SKIP() << device.status().message();
  }
  const auto fault = [] {
    const auto device = FirstDevice(/*is_cuda=*/true);
    const Kernel kernel = SumKernel(/*is_cuda=*/true, "*(int*)8 = 1;");
    std::fputs(ErrorMessage(RunKernelOnce(**device, kernel, {SumInput()})).c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(fault(), ::testing::ExitedWithCode(0),
              "cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS");
}

INSTANTIATE_TEST_SUITE_P(OpenCl, ProgramTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Cuda, ProgramTest, ::testing::Values(true));

}  // namespace
}  // namespace mdh::program_test

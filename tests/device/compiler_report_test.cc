// The lines of ptxas, as several versions write them, and what follows from them for a launch.
#include "tuner/device/compiler_report.h"

#include "codegen/program/kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tuner/device/compute_device.h"
#include "tuner/device/cuda/cuda_program.h"
#include "tuner/device/cuda/nvrtc.h"

namespace mdh::compiler_report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// NVRTC 13.0 after a warning of the source, with a function that a kernel calls.
constexpr char kNewReport[] =
    R"(k.cu(49): warning #177-D: function "f" was declared but never referenced

ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'call' for 'sm_90'
ptxas info    : Function properties for call
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compile time = 2.062 ms
ptxas info    : Function properties for _Z2fnILi3EEff
ptxas         .     16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'spill' for 'sm_90'
ptxas info    : Function properties for spill
ptxas         .     3184 bytes stack frame, 4688 bytes spill stores, 6576 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 3184 bytes cumulative stack size, 400 bytes smem
ptxas info    : Compile time = 120.419 ms
)";

// nvcc 11, of which the lines of memory begin without a name.
constexpr char kOldReport[] =
    "ptxas info    : 0 bytes gmem, 4 bytes cmem[3]\n"
    "ptxas info    : Compiling entry function 'spill' for 'sm_80'\n"
    "ptxas info    : Function properties for spill\n"
    "    3192 bytes stack frame, 4092 bytes spill stores, 4692 bytes spill loads\n"
    "ptxas info    : Used 64 registers, 400 bytes smem, 364 bytes cmem[0]\n";

TEST(CompilerReportTest, KernelFunctionsOfAllVersions) {
  EXPECT_THAT(*ParseCompilerReport(kNewReport),
              ElementsAre(FunctionResources{.function = "call", .registers = 8},
                          FunctionResources{.function = "spill",
                                            .registers = 64,
                                            .stack_bytes = 3184,
                                            .spill_store_bytes = 4688,
                                            .spill_load_bytes = 6576,
                                            .shared_bytes = 400}));
  EXPECT_THAT(*ParseCompilerReport(kOldReport),
              ElementsAre(FunctionResources{.function = "spill",
                                            .registers = 64,
                                            .stack_bytes = 3192,
                                            .spill_store_bytes = 4092,
                                            .spill_load_bytes = 4692,
                                            .shared_bytes = 400}));
}

TEST(CompilerReportTest, LogsWithoutOne) {
  EXPECT_THAT(*ParseCompilerReport(""), IsEmpty());
  EXPECT_THAT(*ParseCompilerReport("ptxas info    : 0 bytes gmem\nanything else\n"), IsEmpty());
}

TEST(CompilerReportTest, WhatIsWrongIsQuoted) {
  const auto error = [](const std::string& log) { return ErrorMessage(ParseCompilerReport(log)); };
  const std::string begin = "ptxas info    : Compiling entry function 'k' for 'sm_90'\n";
  const std::string no_such = "the compiler's report has no such line: ";
  EXPECT_EQ(error(begin), "the compiler's report has no registers of k");
  EXPECT_EQ(error(begin + begin), "the compiler's report has no registers of k");
  for (const std::string line :
       {"ptxas info    : Compiling entry function 'k",
        "ptxas info    : Compiling entry function ''", "ptxas info    : Used 8 registers",
        "ptxas         .     0 bytes stack frame, no spilling",
        "x bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"}) {
    EXPECT_EQ(error(line), no_such + line);
  }
  EXPECT_EQ(error(begin + "ptxas info    : Used all registers"),
            no_such + "ptxas info    : Used all registers");
  EXPECT_EQ(error(begin + "ptxas info    : Used 0 registers"),
            no_such + "ptxas info    : Used 0 registers");
  EXPECT_EQ(error(begin + "ptxas info    : Used 99999999999999999999 registers"),
            no_such + "ptxas info    : Used 99999999999999999999 registers");
}

// What the launch of `threads` threads of a function is refused for on an H100.
std::string LaunchError(int64_t threads, int registers, int64_t shared = 0, int64_t dynamic = 0) {
  Kernel kernel;
  kernel.launches = {{"k_0", {{1, 1, 1}, {32, 1, 1}}},
                     {"k_1", {{1, 1, 1}, {threads, 1, 1}}, dynamic}};
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.name = "GPU";
  const std::vector<FunctionResources> functions = {
      {.function = "other", .registers = 255, .shared_bytes = int64_t{1} << 30},
      {.function = "k_1", .registers = registers, .shared_bytes = shared}};
  return ErrorMessage(CheckResources(kernel, functions, device));
}

TEST(ResourcesTest, RegistersAreGivenAwayInWarpsAndUnits) {
  EXPECT_EQ(LaunchError(1024, 64), "no error");
  EXPECT_EQ(LaunchError(1024, 65),
            "k_1: 1024 threads with 65 registers take 73728 registers, the limit of GPU is 65536");
  // Ten warps of 6144 are less than that, but take the place of twelve.
  EXPECT_EQ(LaunchError(320, 185),
            "k_1: 320 threads with 185 registers take 73728 registers, the limit of GPU is 65536");
  EXPECT_EQ(LaunchError(256, 255), "no error");
  EXPECT_EQ(LaunchError(384, 168), "no error");
  EXPECT_EQ(LaunchError(384, 169),
            "k_1: 384 threads with 169 registers take 67584 registers, the limit of GPU is 65536");
}

TEST(ResourcesTest, SharedMemoryIsBothKindsTogether) {
  const int64_t limit = DescribeCudaArchitecture(90)->blocks.shared_bytes_per_block;
  EXPECT_EQ(LaunchError(32, 32, 1024, limit - 1024), "no error");
  EXPECT_EQ(LaunchError(32, 32, 1024, limit - 1023),
            absl::StrCat("k_1: bytes of shared memory are 1024 + ", limit - 1023,
                         ", the limit of GPU is ", limit));
}

// A function with more values than registers, as this machine's NVRTC reports it.
TEST(CompilerReportTest, NvrtcReports) {
  const Result<Nvrtc> nvrtc = Nvrtc::Load(Nvrtc::ToolkitFolders(""));
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  Kernel kernel;
  kernel.entry = "mdh_spill";
  kernel.language = "CUDA C++";
  kernel.source = R"(
extern "C" __global__ void __launch_bounds__(1024) mdh_spill_0(float* p, int n) {
  __shared__ float tile[100];
  float a[200];
  #pragma unroll
  for (int i = 0; i < 200; i++) a[i] = p[i * n + threadIdx.x];
  tile[threadIdx.x % 100] = a[3];
  __syncthreads();
  for (int k = 0; k < n; k++) {
    #pragma unroll
    for (int i = 0; i < 200; i++) a[i] = a[i] * a[i * 7 % 200] + tile[i % 100];
  }
  #pragma unroll
  for (int i = 0; i < 200; i++) p[i * n + threadIdx.x] = a[i];
}
)";
  const Result<Cubin> cubin = CompileToCubin(*nvrtc, 90, kernel);
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  EXPECT_FALSE(cubin->image.empty());
  ASSERT_EQ(cubin->functions.size(), 1u);
  const FunctionResources& function = cubin->functions[0];
  EXPECT_EQ(function.function, "mdh_spill_0");
  EXPECT_GT(function.registers, 32);
  EXPECT_LE(function.registers, 64);
  EXPECT_GT(function.spill_store_bytes, 500);
  EXPECT_GT(function.spill_load_bytes, 500);
  EXPECT_GT(function.stack_bytes, 500);
  EXPECT_EQ(function.shared_bytes, 400);
  // Options that there are not are named, whether of the report or not.
  kernel.compile_options = {"--no-such-option"};
  EXPECT_THAT(ErrorMessage(CompileToCubin(*nvrtc, 90, kernel)),
              ::testing::HasSubstr("--no-such-option"));
}

}  // namespace
}  // namespace mdh::compiler_report_test

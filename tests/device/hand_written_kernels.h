// Kernels written by hand in both languages, and the devices there are to run them.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/program/kernel.h"
#include "core/expression/interpreter.h"
#include "tuner/device/compute_device.h"
#include "tuner/device/cuda/cuda_driver.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/device/opencl/opencl_driver.h"

namespace mdh {

inline constexpr int kSum = 1024;  // elements that the kernel below adds up

// What the kernels below call a block's number, a thread's number, shared memory and a barrier.
inline std::string WordsOf(bool is_cuda) {
  return is_cuda ? "#define GROUP blockIdx.x\n#define LOCAL threadIdx.x\n"
                   "#define SHARED __shared__\n#define BARRIER __syncthreads()\n"
                 : "#define GROUP get_group_id(0)\n#define LOCAL get_local_id(0)\n"
                   "#define SHARED __local\n"
                   "#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)\n";
}

// Takes `in` (1024 int32), `out` (4 int32) and scratch memory: stage 0 sums up 256 elements per
// block through shared memory, stage 1 copies the four sums. `mistake` is a statement at the end of
// stage 1, where `i` is the thread's number.
inline Kernel SumKernel(bool is_cuda, const std::string& mistake = "") {
  Kernel kernel;
  kernel.entry = "mdh_sum";
  kernel.language = is_cuda ? Language::kCudaCxx : Language::kOpenClC;
  const std::string prefix = is_cuda ? "extern \"C\" __global__ void " : "__kernel void ";
  const std::string global = is_cuda ? "" : "__global ";
  const std::string arguments = "(" + global + "const int* in, " + global + "int* out, " + global +
                                (is_cuda ? "void*" : "char*") + " scratch)";
  kernel.source = WordsOf(is_cuda) + prefix + "mdh_sum_0" + arguments +
                  " {\n  SHARED int sums[64];\n" + "  int i = (int)LOCAL, sum = 0;\n" +
                  "  for (int n = 0; n < 4; ++n) sum += in[(int)GROUP * 256 + n * 64 + i];\n" +
                  "  sums[i] = sum;\n  BARRIER;\n" +
                  "  if (i == 0) {\n    for (int n = 1; n < 64; ++n) sum += sums[n];\n" + "    ((" +
                  global + "int*)scratch)[GROUP] = sum;\n  }\n}\n" + prefix + "mdh_sum_1" +
                  arguments + " {\n  int i = (int)LOCAL;\n  out[i] = ((" + global +
                  "int*)scratch)[i];\n  " + mistake + "\n}\n";
  kernel.arguments = {{"in", ScalarType::kInt32, kSum, false},
                      {"out", ScalarType::kInt32, 4, true}};
  kernel.stages = 2;
  kernel.launches = {{"mdh_sum_0", {{4, 1, 1}, {64, 1, 1}}}, {"mdh_sum_1", {{1, 1, 1}, {4, 1, 1}}}};
  kernel.scratch_bytes = 4 * sizeof(int32_t);
  return kernel;
}

inline constexpr int kPair = 16;  // elements of `out` of the kernel below

// Two threads that copy `in` (28 int32) to shared memory three times, with barriers around it, and
// add the first 16 to `out`, which one of them does in a loop that it leaves early.
inline Kernel PairKernel(bool is_cuda) {
  Kernel kernel;
  kernel.entry = "mdh_pair";
  kernel.language = is_cuda ? Language::kCudaCxx : Language::kOpenClC;
  const std::string prefix = is_cuda
                                 ? "extern \"C\" __global__ void "
                                 : "__kernel __attribute__((reqd_work_group_size(2, 1, 1))) void ";
  const std::string restricted = is_cuda ? "* __restrict__ " : "* restrict ";
  const std::string global = is_cuda ? "" : "__global ";
  kernel.source = WordsOf(is_cuda) + prefix + "mdh_pair_0(" + global + "const int" + restricted +
                  "in, " + global + "int" + restricted +
                  "out) {\n  SHARED int copy[28];\n  const int thread = (int)LOCAL;\n" +
                  "  for (int n = 0; n < 3; ++n) {\n" +
                  "    for (int r = 0; r < 14; ++r) copy[r * 2 + thread] = in[r * 2 + thread];\n" +
                  "    BARRIER;\n" +
                  "    for (int l = 0; l < 14; ++l) {\n      const int at = thread * 14 + l;\n" +
                  "      if (at < 16) out[at] = (n == 0 ? 0 : out[at]) + copy[at];\n    }\n" +
                  "    BARRIER;\n  }\n}\n";
  kernel.arguments = {{"in", ScalarType::kInt32, 28, false},
                      {"out", ScalarType::kInt32, kPair, true}};
  kernel.stages = 1;
  kernel.launches = {{"mdh_pair_0", {{1, 1, 1}, {2, 1, 1}}}};
  return kernel;
}

// CUDA: takes `in` (1 int32), `out` (4 int32) and scratch memory. Stage 0, which takes its time,
// writes in[0] + n; stage 1 doubles these; stage 2 adds what stage 0 wrote first to each.
inline Kernel EarlyKernel() {
  Kernel kernel;
  kernel.entry = "mdh_early";
  kernel.language = Language::kCudaCxx;
  kernel.source = R"(
#if __CUDA_ARCH__ >= 900
#define ADMIT asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define WAIT asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define ADMIT
#define WAIT
#endif
extern "C" __global__ void mdh_early_0(const int* in, int* out, int* scratch) {
  ADMIT;
  for (const long long start = clock64(); clock64() - start < 40000;) {
  }
  scratch[blockIdx.x] = in[0] + blockIdx.x;
}
extern "C" __global__ void mdh_early_1(const int* in, int* out, int* scratch) {
  ADMIT;
  WAIT;
  scratch[4 + threadIdx.x] = 2 * scratch[threadIdx.x];
}
extern "C" __global__ void mdh_early_2(const int* in, int* out, int* scratch) {
  WAIT;
  out[threadIdx.x] = scratch[4 + threadIdx.x] + scratch[0];
}
)";
  kernel.arguments = {{"in", ScalarType::kInt32, 1, false}, {"out", ScalarType::kInt32, 4, true}};
  kernel.stages = 3;
  kernel.launches = {{"mdh_early_0", {{4, 1, 1}, {1, 1, 1}}},
                     {"mdh_early_1", {{1, 1, 1}, {4, 1, 1}}, 0, /*starts_early=*/true},
                     {"mdh_early_2", {{1, 1, 1}, {4, 1, 1}}, 0, /*starts_early=*/true}};
  kernel.scratch_bytes = 8 * sizeof(int32_t);
  return kernel;
}

inline BufferBytes BytesOf(const std::vector<int32_t>& values) {
  BufferBytes bytes(values.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline BufferBytes SumInput() {
  std::vector<int32_t> values(kSum);
  for (int n = 0; n < kSum; ++n) values[n] = n;
  return BytesOf(values);
}

// The sums of 0..255, 256..511, ...
inline BufferBytes SumOutput() { return BytesOf({32640, 98176, 163712, 229248}); }

// The first device, or why there is none.
inline Result<std::unique_ptr<ComputeDevice>> FirstDevice(bool is_cuda) {
  CudaLibraries cuda;
  cuda.nvrtc_folders = Nvrtc::ToolkitFolders("");
  MDH_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<ComputeDevice>> devices,
                       is_cuda ? FindCudaDevices(cuda) : FindOpenClDevices());
  return std::move(devices[0]);
}

}  // namespace mdh

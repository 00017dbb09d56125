#include "tuner/measure/executor/device_kernels.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/lower/units/unit_benchmark.h"
#include "codegen/print/c_block_unit.h"

namespace mdh {
namespace {

constexpr int64_t kKernelThreads = 256;
constexpr int64_t kKernelSteps = 4096;  // of every chain
constexpr int64_t kChains = 8;
constexpr int64_t kWidestVector = 64;  // bytes, of hosts

// What languages call differently.
constexpr char kCudaWords[] = R"(#define KERNEL extern "C" __global__ void
#define GLOBAL
#define THREAD ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define THREADS ((size_t)gridDim.x * blockDim.x)
#define FMA(a, b, c) ((a) * (b) + (c))
typedef float4 quad;
typedef uint4 bits;
typedef unsigned long long wide;
)";
constexpr char kOpenClWords[] = R"(#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define KERNEL __kernel void
#define GLOBAL __global
#define THREAD get_global_id(0)
#define THREADS get_global_size(0)
#define FMA(a, b, c) fma((a), (b), (c))
typedef float4 quad;
typedef uint4 bits;
typedef ulong wide;
)";

constexpr char kCanary[] = R"(KERNEL mdh_canary_0(GLOBAL const float* in, GLOBAL float* out) {
  const size_t i = THREAD;
  if (i < $0) out[i] = in[i] + in[$0 - 1 - i];
}
)";

// 16 bytes at a time, then the rest.
constexpr char kEquality[] =
    R"(KERNEL mdh_equality_0(GLOBAL const bits* a, GLOBAL const bits* b, GLOBAL wide* answer) {
  const size_t bytes = (size_t)answer[0], whole = bytes / 16;
  unsigned int differs = 0;
  for (size_t i = THREAD; i < whole; i += THREADS) {
    const bits x = a[i], y = b[i];
    differs |= (x.x ^ y.x) | (x.y ^ y.y) | (x.z ^ y.z) | (x.w ^ y.w);
  }
  GLOBAL const unsigned char* rest_a = (GLOBAL const unsigned char*)a;
  GLOBAL const unsigned char* rest_b = (GLOBAL const unsigned char*)b;
  for (size_t i = 16 * whole + THREAD; i < bytes; i += THREADS) differs |= rest_a[i] ^ rest_b[i];
  if (differs != 0) answer[1] = 1;
}
)";

// $0 type, of hosts a vector, $1 steps, $2 outputs, $3 whether a sum is what it never is, $4 a
// number of it. Factors come from memory that holds NaN or anything: they are made finite, but the
// compiler does not know them.
constexpr char kArithmeticKernel[] = R"(KERNEL mdh_peak_0(GLOBAL float* out, GLOBAL char* scratch) {
  const $0 factor = ($0)(scratch[0] == 1 ? 0.5 : 0.999), addend = ($0)(scratch[1] == 1 ? 2 : 0.001);
  $0 c0 = ($0)THREAD, c1 = c0 + 1, c2 = c0 + 2, c3 = c0 + 3;
  $0 c4 = c0 + 4, c5 = c0 + 5, c6 = c0 + 6, c7 = c0 + 7;
  for (int step = 0; step < $1; ++step) {
    c0 = FMA(c0, factor, addend);
    c1 = FMA(c1, factor, addend);
    c2 = FMA(c2, factor, addend);
    c3 = FMA(c3, factor, addend);
    c4 = FMA(c4, factor, addend);
    c5 = FMA(c5, factor, addend);
    c6 = FMA(c6, factor, addend);
    c7 = FMA(c7, factor, addend);
  }
  const $0 sum = c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7;
  if ($3 || THREAD < $2) out[THREAD % $2] = (float)$4;
}
)";

// $0 elements of 16 bytes, $1 outputs.
constexpr char kRead[] = R"(KERNEL mdh_peak_0(GLOBAL float* out, GLOBAL char* scratch) {
  GLOBAL const quad* data = (GLOBAL const quad*)scratch;
  float sum = 0;
  for (size_t i = THREAD; i < $0; i += THREADS) {
    const quad value = data[i];
    sum += value.x + value.y + value.z + value.w;
  }
  if (sum == 12345.0f || THREAD < $1) out[THREAD % $1] = sum;
}
)";
constexpr char kCopyKernel[] = R"(KERNEL mdh_peak_0(GLOBAL float* out, GLOBAL char* scratch) {
  GLOBAL quad* data = (GLOBAL quad*)scratch;
  for (size_t i = THREAD; i < $0; i += THREADS) data[$0 + i] = data[i];
  if (THREAD < $1) out[THREAD] = 1;
}
)";

// The same on hosts, whose threads run one after another: each has a part of the memory to itself.
// $0 steps of a thread, of 256 bytes and of twice 64, $1 outputs.
constexpr char kHostRead[] = R"(KERNEL mdh_peak_0(GLOBAL float* out, GLOBAL char* scratch) {
  GLOBAL const float16* part = (GLOBAL const float16*)scratch + THREAD * 4 * $0;
  float16 sums[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < $0; ++i) {
    for (int n = 0; n < 4; ++n) sums[n] += part[4 * i + n];
  }
  const float16 all = sums[0] + sums[1] + sums[2] + sums[3];
  const float8 halves = all.lo + all.hi;
  const float sum = dot(halves.lo, halves.hi);
  if (sum == 12345.0f || THREAD < $1) out[THREAD % $1] = sum;
}
)";
constexpr char kHostCopy[] = R"(KERNEL mdh_peak_0(GLOBAL float* out, GLOBAL char* scratch) {
  GLOBAL float16* part = (GLOBAL float16*)scratch + THREAD * 2 * $0;
  for (size_t i = 0; i < $0; ++i) part[$0 + i] = part[i];
  if (THREAD < $1) out[THREAD] = 1;
}
)";
constexpr char kEmptyKernel[] = R"(KERNEL mdh_peak_0(GLOBAL float* out) {
  if (THREAD < $0) out[THREAD] = 1;
}
)";

std::string WordsOf(Language language) {
  return language == Language::kCudaCxx ? kCudaWords : kOpenClWords;
}

Kernel MakeKernel(DeviceKind kind, const std::string& entry, const std::string& body,
                  int64_t blocks, int64_t threads) {
  Kernel kernel;
  kernel.entry = entry;
  kernel.language = BackendOf(kind).language;
  kernel.source = WordsOf(kernel.language) + body;
  kernel.launches = {{entry + "_0", {{blocks, 1, 1}, {threads, 1, 1}}}};
  return kernel;
}

// Few, long threads where cores run them one after the other; many where they hide latencies.
bool IsGpu(const DeviceDescription& device) { return !RunsOnHost(device); }

int64_t Blocks(const DeviceDescription& device) {
  return static_cast<int64_t>(device.blocks.multiprocessors) * (IsGpu(device) ? 16 : 4);
}

int64_t Threads(const DeviceDescription& device) {
  return std::min<int64_t>(kKernelThreads, device.blocks.max_threads_per_block);
}

PeakKernel MakePeak(const DeviceDescription& device, const std::string& body, int64_t scratch_bytes,
                    double work) {
  PeakKernel peak = {MakeKernel(device.kind, "mdh_peak", body, Blocks(device), Threads(device)),
                     work};
  peak.kernel.scratch_bytes = scratch_bytes;
  return peak;
}

// A microbenchmark of memory: what threads of GPUs do together, and a thread of a host by itself,
// in steps of so many bytes.
struct MemoryKernel {
  const char* together;
  int64_t step;
  const char* alone;
  int64_t alone_step;
};
constexpr MemoryKernel kReads = {kRead, 16, kHostRead, 256};
constexpr MemoryKernel kCopies = {kCopyKernel, 32, kHostCopy, 128};

PeakKernel MemoryPeak(const DeviceDescription& device, const MemoryKernel& kernel, int64_t bytes) {
  const int64_t threads = IsGpu(device) ? 1 : Blocks(device) * Threads(device);
  const int64_t step = IsGpu(device) ? kernel.step : kernel.alone_step;
  const int64_t steps = std::max<int64_t>(1, bytes / threads / step);
  bytes = steps * step * threads;
  const char* const body = IsGpu(device) ? kernel.together : kernel.alone;
  return MakePeak(device, absl::Substitute(body, steps, kPeakOutputs), bytes,
                  static_cast<double>(bytes));
}

}  // namespace

Kernel CanaryKernel(DeviceKind kind) {
  Kernel kernel =
      MakeKernel(kind, "mdh_canary", absl::Substitute(kCanary, kCanaryElements), 16, 64);
  kernel.arguments = {{"in", ScalarType::kFloat32, kCanaryElements, false},
                      {"out", ScalarType::kFloat32, kCanaryElements, true}};
  return kernel;
}

Kernel EqualityKernel(const DeviceDescription& device) {
  return MakeKernel(device.kind, "mdh_equality", kEquality, Blocks(device), Threads(device));
}

PeakKernel ArithmeticPeakKernel(const DeviceDescription& device, ScalarType type) {
  const std::string scalar = type == ScalarType::kFloat64 ? "double" : "float";
  // Compilers for hosts do not make vectors of threads that have loops.
  const int64_t lanes = IsGpu(device) ? 1 : kWidestVector / SizeBytes(type);
  const std::string name = lanes == 1 ? scalar : absl::StrCat(scalar, lanes);
  const std::string is_it = absl::Substitute("sum == ($0)12345", name);
  const std::string body =
      lanes == 1
          ? absl::Substitute(kArithmeticKernel, name, kKernelSteps, kPeakOutputs, is_it, "sum")
          : absl::Substitute(kArithmeticKernel, name, kKernelSteps, kPeakOutputs,
                             absl::StrCat("any(", is_it, ")"), "sum.s0");
  const double threads = static_cast<double>(Blocks(device) * Threads(device));
  return MakePeak(device, body, 64,
                  2.0 * kKernelSteps * kChains * static_cast<double>(lanes) * threads);
}

PeakKernel UnitPeakKernel(const DeviceDescription& device, const MatrixInstruction& instruction) {
  const UnitBenchmark benchmark = BuildUnitBenchmark(instruction, device, kPeakOutputs);
  BlockUnitOptions options{&DialectOf(device), "mdh_peak", "", {}};
  options.arguments = {{"out", ScalarType::kFloat32, kPeakOutputs, true}};
  options.wide_indices = false;
  return {PrintBlockKernel(benchmark.program, options), benchmark.operations};
}

PeakKernel ReadPeakKernel(const DeviceDescription& device, int64_t bytes) {
  return MemoryPeak(device, kReads, bytes);
}

PeakKernel CopyPeakKernel(const DeviceDescription& device, int64_t bytes) {
  return MemoryPeak(device, kCopies, bytes);
}

PeakKernel EmptyKernel(const DeviceDescription& device) {
  return {MakeKernel(device.kind, "mdh_peak", absl::Substitute(kEmptyKernel, kPeakOutputs), 1,
                     kPeakOutputs),
          1};
}

}  // namespace mdh

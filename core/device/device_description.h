// What lowering and code generation need to know of a device: counts, sizes, limits.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/device/backends.h"
#include "core/device/features.h"

namespace mdh {

// What a device with blocks of threads allows. Plain data; every field but those marked is
// required.
struct BlockLimits {
  int multiprocessors = 0;                       // SMX, CU
  int max_threads_per_block = 0;                 // in all dimensions together
  std::array<int64_t, 3> max_block = {0, 0, 0};  // threads of a block in x, y, z
  std::array<int64_t, 3> max_grid = {0, 0, 0};   // blocks in x, y, z
  int warp_size = 0;                             // threads that run in lockstep; 1: none
  int64_t shared_bytes_per_block = 0;            // with opting in
  int registers_per_thread = 0;                  // of 32 bits; 0: not limited (CPUs under OpenCL)
  int registers_per_block = 0;                   // of 32 bits; 0: not limited
  int64_t memory_bytes = 0;                      // device memory
  bool has_fp64 = true;
};

// What nothing that runs on a machine can exceed, by the specification of its maker; 0: not known.
// Plain data. Bounds on times are derived from it (codegen/bounds), no kernels: it is no part of
// fingerprints.
struct MachineLimits {
  double clock_hz = 0;            // of the fastest core, boosted; of GPUs, where clock_hz is less
  double memory_bytes_per_s = 0;  // that all its memory can move, reads and writes together
  int64_t cache_bytes = 0;        // of all caches together, also those that other guests use
  // Of processors: of a vector, what a unit that computes vectors takes in a cycle.
  int unit_bytes = 0;

  friend bool operator==(const MachineLimits&, const MachineLimits&) = default;
};

// Plain data; every size in bytes. Zero means "not there" or "not known".
struct DeviceDescription {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;     // "AMD EPYC 7763", as the device gives it
  int cores = 1;        // hardware threads that a kernel may use
  int simd_bytes = 16;  // width of a vector register
  int vector_registers = 16;
  int64_t l1_bytes = 32 << 10;   // data cache of one core
  int64_t l2_bytes = 512 << 10;  // of one core
  int64_t l3_bytes = 0;          // shared by all cores
  int cache_line_bytes = 64;
  std::string isa;       // "x86-64 avx2 fma"
  std::string compiler;  // "gcc 12.2.0": part of the fingerprint
  double clock_hz = 0;
  BlockLimits blocks = {};       // of kinds other than kCpu
  DeviceFeatures features = {};  // whoever describes a device takes FeaturesOf, or fewer
  MachineLimits limits = {};

  // One line with everything above that changes which kernel is best; part of every cache key. Says
  // of features only which of FeaturesOf are missing.
  std::string Fingerprint() const;
};

// Of a device of NVIDIA's: 90 for "sm_90" under CUDA and for "OpenCL 3.0 CUDA sm_90" under OpenCL,
// whose compiler takes PTX, too; 0 of others, and where the description does not say it.
int ComputeCapability(const DeviceDescription& device);

// Whether the device's threads are the host's cores: of CPUs under OpenCL, too.
inline bool RunsOnHost(const DeviceDescription& device) {
  return !BackendOf(device.kind).has_blocks || device.blocks.warp_size <= 1;
}

// Whether the description is complete and free of contradictions: every count positive, shared and
// register memory and the sizes of blocks and grids consistent with each other, no feature that the
// architecture lacks. Errors: InvalidArgument, naming the field and its value.
Status ValidateDevice(const DeviceDescription& device);

// A GPU with the limits that the CUDA C++ programming guide gives for that compute capability
// (80, 86, 89, 90, 100): for code generation without the device at hand.
// Errors: InvalidArgument, naming those that are known.
Result<DeviceDescription> DescribeCudaArchitecture(int compute_capability);

// This machine's CPU, from /proc/cpuinfo and sysfs, sched_getaffinity and the instruction set;
// `compiler` is left empty. Errors: FailedPrecondition if these cannot be read.
Result<DeviceDescription> DescribeHostCpu();

}  // namespace mdh

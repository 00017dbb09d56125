// What lowering and code generation need to know of a device: counts, sizes, limits.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace mdh {

enum class DeviceKind : uint8_t { kCpu = 1 };  // OpenCL and CUDA devices follow

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

  // One line with everything above that changes which kernel is best; part of every cache key.
  std::string Fingerprint() const;
};

// This machine's CPU, from /proc/cpuinfo and sysfs, sched_getaffinity and the instruction set;
// `compiler` is left empty. Errors: FailedPrecondition if these cannot be read.
Result<DeviceDescription> DescribeHostCpu();

}  // namespace mdh

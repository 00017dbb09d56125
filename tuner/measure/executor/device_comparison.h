// Comparing contents of a device's memory where they are: copying hundreds of megabytes to the host
// takes longer than most kernels that made them.
#pragma once

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "tuner/device/compute_device.h"
#include "tuner/measure/executor/device_buffer.h"

namespace mdh {

// Smaller buffers are copied to the host in less time than a launch takes.
inline constexpr int64_t kLeastComparedBytes = int64_t{4} << 20;

// A kernel, and what a compile worker made of it.
struct CompiledKernel {
  Kernel kernel;
  std::string binary;
};

// Not thread-safe. Lives no longer than the device. Errors of all methods: what the device says.
class DeviceComparison {
 public:
  // `equality`: of EqualityKernel.
  static Result<std::unique_ptr<DeviceComparison>> Load(ComputeDevice& device,
                                                        const CompiledKernel& equality);

  // Whether all bytes between the guard zones are equal. Expects as many of both.
  Result<bool> AreEqual(DeviceMemory& a, DeviceMemory& b);

 private:
  DeviceComparison(std::unique_ptr<DeviceProgram> program, std::unique_ptr<DeviceMemory> answer)
      : program_(std::move(program)), answer_(std::move(answer)) {}

  std::unique_ptr<DeviceProgram> program_;
  std::unique_ptr<DeviceMemory> answer_;
};

// A second copy of what a buffer of the device has or should get, in the device's memory.
class KnownContents {
 public:
  // Of `buffer`, which has these contents now. Tries the comparison on it: errors: Internal if it
  // sees a difference where there is none, or none where there is one; what the device says.
  static Result<KnownContents> Create(ComputeDevice& device, DeviceComparison& comparison,
                                      DeviceBuffer& buffer, absl::Span<const std::byte> contents);

  // Whether `buffer` has these contents now.
  Result<bool> AreIn(const DeviceBuffer& buffer) const {
    return comparison_->AreEqual(*copy_, *buffer.memory());
  }

 private:
  KnownContents(DeviceComparison& comparison, std::unique_ptr<DeviceMemory> copy)
      : comparison_(&comparison), copy_(std::move(copy)) {}

  DeviceComparison* comparison_;
  std::unique_ptr<DeviceMemory> copy_;
};

}  // namespace mdh

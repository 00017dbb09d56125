// Which devices this machine has.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "mdh/v1/runner.pb.h"

namespace mdh {

struct AttachedDevice {
  std::string selector;           // "cpu", "opencl:0", "cuda:1": see RunnerOptions
  DeviceDescription description;  // of the CPU without `compiler`
  std::string platform;           // "CUDA", or OpenCL's name of the platform; empty: the CPU
  std::string driver;             // its version
};

struct DeviceSearch {
  std::vector<AttachedDevice> devices;  // the CPU first
  // Kinds that are not there, and why: "no CUDA device: libcuda.so.1 is not there"; and devices
  // whose descriptions make no sense.
  std::vector<std::string> missing;
};

// What is attached, without loading anything that could harm this process: a process of
// `runner_program` (mdh-runner --list) looks. A kind whose driver crashes or hangs is missing.
// Errors: FailedPrecondition if the program is missing or fails; Cancelled once `is_stopping`
// (null: never) is true.
Result<DeviceSearch> FindDevices(const std::string& runner_program,
                                 const std::atomic<bool>* is_stopping = nullptr);

// The same of what that process has found.
DeviceSearch FoundIn(const v1::RunnerDeviceList& list);

}  // namespace mdh

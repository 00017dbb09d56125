// Kernels of blocks of threads on an OpenCL or CUDA device.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "tuner/device/device_selector.h"
#include "tuner/measure/harness.h"
#include "tuner/process/child_process.h"

namespace mdh {

struct DeviceHarnessOptions {
  DeviceSelector selector;   // not the CPU
  std::string path;          // where compilers for the CPU are looked for, as $PATH
  std::string cuda_root;     // where the CUDA Toolkit is; empty: in the usual places
  std::string directory;     // for all files; exists and is empty
  int restricted_cores = 0;  // of this machine, to which this process is restricted; 0: all
};

// The process itself loads no driver: children of it compile, and one of them, the executor, holds
// the device, inputs and outputs. Whatever ends that one, another one takes its place. The
// supervisor must outlive the harness. Errors: FailedPrecondition if there is no such device;
// Internal if its driver fails.
Result<std::unique_ptr<Harness>> MakeDeviceHarness(const DeviceHarnessOptions& options,
                                                   Supervisor& supervisor);

}  // namespace mdh

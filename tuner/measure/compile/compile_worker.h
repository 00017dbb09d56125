// The process that compiles kernels for a device: what they do to the compiler ends with it.
#pragma once

#include "core/device/device_description.h"
#include "tuner/device/device_selector.h"
#include "tuner/measure/compile/attached_device.h"

namespace mdh {

struct CompileWorkerOptions {
  DeviceSelector selector;
  DeviceDescription device;  // what is there; CUDA: `isa` says what to compile for
  DriverOptions drivers;
};

// Answers CompileRequests over kChildSocket until it is closed. Gives the exit status.
int ServeCompilations(const CompileWorkerOptions& options);

}  // namespace mdh

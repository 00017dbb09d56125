// The devices of this machine, opened in a process that may end by what their drivers do.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/device/compute_device.h"
#include "tuner/device/device_selector.h"
#include "tuner/process/child_process.h"

namespace mdh {

struct DriverOptions {
  std::string cuda_root;  // where the CUDA Toolkit is; empty: in the usual places
  std::string directory;  // for files of drivers; empty: their own choice
  int cores = 0;          // that the process is restricted to; 0: all
};

// Loads the driver: only for child processes. Errors: NotFound if there is no such device; what
// FindCudaDevices and FindOpenClDevices say.
Result<std::unique_ptr<ComputeDevice>> OpenAttachedDevice(const DeviceSelector& selector,
                                                          const DriverOptions& options);

// What a child of this process finds: all devices of `kind`, or only that one. Errors: NotFound if
// there is none; Internal if the driver crashes or hangs; Cancelled; others of the drivers.
Result<v1::RunnerDeviceList> LookForDevices(DeviceKind kind, const DriverOptions& options,
                                            Supervisor& supervisor);
Result<v1::RunnerAttachedDevice> LookForDevice(const DeviceSelector& selector,
                                               const DriverOptions& options,
                                               Supervisor& supervisor);

}  // namespace mdh

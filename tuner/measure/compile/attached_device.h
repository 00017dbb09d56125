// The devices of this machine, opened in a process that may end by what their drivers do.
#pragma once

#include <memory>

#include "core/base/status.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/device/compute_device.h"
#include "tuner/device/device_selector.h"
#include "tuner/measure/compile/device_driver.h"
#include "tuner/process/child_process.h"

namespace mdh {

// Loads the driver: only for child processes. Errors: as DeviceDriver::open.
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

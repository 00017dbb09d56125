// What OpenCL says about a device, as a DeviceDescription.
#pragma once

#include <string>

#include "core/device/device_description.h"
#include "tuner/device/opencl/opencl_functions.h"

namespace mdh {

// Errors: Internal, naming the call.
Result<std::string> OpenClDeviceText(const OpenClFunctions& functions, void* device,
                                     uint32_t property);
Result<DeviceDescription> DescribeOpenClDevice(const OpenClFunctions& functions, void* device);
// Bytes to which sub-buffers must be aligned.
Result<int64_t> OpenClAlignment(const OpenClFunctions& functions, void* device);

}  // namespace mdh

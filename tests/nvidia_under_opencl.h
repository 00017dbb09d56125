// NVIDIA's devices as their own driver of OpenCL describes them.
#pragma once

#include "core/device/device_description.h"

namespace mdh {

// `isa`: with the architecture, as the device says it; `driver`: its version.
inline DeviceDescription NvidiaUnderOpenCl(const char* isa = "OpenCL 3.0 CUDA sm_90",
                                           const char* driver = "580.95.05") {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.kind = DeviceKind::kOpenCl;
  device.isa = isa;
  device.compiler = driver;
  device.features = FeaturesOf(device);
  return device;
}

}  // namespace mdh

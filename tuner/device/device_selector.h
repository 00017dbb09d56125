// The words for devices: "cpu", "opencl:0", "cuda:1".
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/device/device_description.h"

namespace mdh {

struct DeviceSelector {
  DeviceKind kind = DeviceKind::kCpu;
  int number = 0;  // among the devices of that kind; 0 of the CPU

  friend bool operator==(const DeviceSelector&, const DeviceSelector&) = default;
};

std::string ToText(const DeviceSelector& selector);
// Errors: InvalidArgument, with the words there are.
Result<DeviceSelector> ParseDeviceSelector(std::string_view text);

}  // namespace mdh

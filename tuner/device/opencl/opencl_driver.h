// OpenCL behind ComputeDevice; its loader (ICD) is found at run time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/device/compute_device.h"

namespace mdh {

struct OpenClLibraries {
  std::vector<std::string> loader = {"libOpenCL.so.1"};
  // Only the device of that number, over all platforms.
  std::optional<int> number = {};
  // Of this process alone, where POCL_CACHE_DIR says that PoCL keeps its files, with
  // POCL_KERNEL_CACHE=0; empty: anywhere.
  std::string pocl_directory = {};
};

// Every device of every platform, in OpenCL's order. Must be called after the last fork. Sets the
// environment variable POCL_FULL_REPLICATION_THRESHOLD where it is not set. Errors:
// NotFound if the loader, every platform or every device is missing; Internal, naming the call.
Result<std::vector<std::unique_ptr<ComputeDevice>>> FindOpenClDevices(
    const OpenClLibraries& libraries = {});

}  // namespace mdh

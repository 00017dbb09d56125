// The CUDA driver API and NVRTC behind ComputeDevice; both libraries are found at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/device/compute_device.h"

namespace mdh {

struct CudaLibraries {
  std::vector<std::string> driver = {"libcuda.so.1"};
  std::vector<std::string> nvrtc_folders;  // Nvrtc::ToolkitFolders
};

// Every CUDA device, in the driver's order. Must be called after the last fork: contexts do not
// survive one. Errors: NotFound if a library or every device is missing; FailedPrecondition, naming
// the call, if the driver does not start.
Result<std::vector<std::unique_ptr<ComputeDevice>>> FindCudaDevices(const CudaLibraries& libraries);

}  // namespace mdh

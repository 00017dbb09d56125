#include "tuner/measure/compile/device_driver.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "tuner/device/cuda/cuda_driver.h"
#include "tuner/device/cuda/nvcc.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/device/opencl/opencl_driver.h"

namespace mdh {
namespace {

Result<DeviceDriver::Devices> OpenOpenCl(std::optional<int> number, const DriverOptions& options) {
  OpenClLibraries libraries;
  libraries.number = number;
  libraries.pocl_directory = PoclDirectory(options);
  return FindOpenClDevices(libraries);
}

Result<DeviceDriver::Devices> OpenCuda(std::optional<int> number, const DriverOptions& options) {
  CudaLibraries libraries;
  libraries.nvrtc_folders = Nvrtc::ToolkitFolders(options.cuda_root);
  MDH_ASSIGN_OR_RETURN(DeviceDriver::Devices devices, FindCudaDevices(libraries));
  if (!number) return devices;
  if (*number >= static_cast<int>(devices.size())) {
    return NotFound("there is no CUDA device number ", *number, ", only ", devices.size());
  }
  DeviceDriver::Devices one;
  one.push_back(std::move(devices[static_cast<size_t>(*number)]));
  return one;
}

std::vector<std::string> NoFiles(const std::string&) { return {}; }

// Drivers of OpenCL compile several times as long as NVRTC.
constexpr std::array<DeviceDriver, 2> kDrivers = {{
    {.kind = DeviceKind::kOpenCl,
     .open = &OpenOpenCl,
     .has_nvrtc = false,
     .folders = &NoFiles,
     .compiler_files = &NoFiles,
     .least_compile_limit_ns = 10'000'000'000},
    {.kind = DeviceKind::kCuda,
     .open = &OpenCuda,
     .has_nvrtc = true,
     .folders = &Nvrtc::ToolkitFolders,
     .compiler_files = &FilesOfCudaCompilers,
     .least_compile_limit_ns = 1'500'000'000},
}};

}  // namespace

std::string PoclDirectory(const DriverOptions& options) {
  return options.directory.empty() ? "" : absl::StrCat(options.directory, "/pocl.", getpid());
}

const DeviceDriver& DriverOf(DeviceKind kind) {
  return *std::ranges::find(kDrivers, kind, &DeviceDriver::kind);
}

}  // namespace mdh

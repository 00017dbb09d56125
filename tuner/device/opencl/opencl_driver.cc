#include "tuner/device/opencl/opencl_driver.h"

#include <cstdlib>

#include "tuner/device/opencl/opencl_device.h"

namespace mdh {
namespace {

Result<std::string> PlatformName(const OpenClFunctions& functions, void* platform) {
  char name[256] = "";
  MDH_RETURN_IF_ERROR(CheckOpenCl(
      "clGetPlatformInfo",
      functions.GetPlatformInfo(platform, opencl::kPlatformName, sizeof name, name, nullptr)));
  return std::string(name);
}

Result<std::vector<void*>> Platforms(const OpenClFunctions& functions) {
  uint32_t count = 0;
  const int code = functions.GetPlatformIDs(0, nullptr, &count);
  if (code == opencl::kNoPlatform || (code == 0 && count == 0)) {
    return NotFound("there is no OpenCL platform");
  }
  MDH_RETURN_IF_ERROR(CheckOpenCl("clGetPlatformIDs", code));
  std::vector<void*> platforms(count);
  MDH_RETURN_IF_ERROR(
      CheckOpenCl("clGetPlatformIDs", functions.GetPlatformIDs(count, platforms.data(), nullptr)));
  return platforms;
}

Result<std::vector<void*>> Devices(const OpenClFunctions& functions, void* platform) {
  uint32_t count = 0;
  const int code = functions.GetDeviceIDs(platform, opencl::kAllDevices, 0, nullptr, &count);
  if (code == opencl::kDeviceNotFound) return std::vector<void*>();
  MDH_RETURN_IF_ERROR(CheckOpenCl("clGetDeviceIDs", code));
  std::vector<void*> devices(count);
  MDH_RETURN_IF_ERROR(CheckOpenCl(
      "clGetDeviceIDs",
      functions.GetDeviceIDs(platform, opencl::kAllDevices, count, devices.data(), nullptr)));
  return devices;
}

}  // namespace

Result<std::vector<std::unique_ptr<ComputeDevice>>> FindOpenClDevices(
    const OpenClLibraries& libraries) {
  // PoCL reads this when it compiles. By default it copies the code of blocks of at most two
  // threads instead of putting loops around it, and ends the process on some loops with barriers.
  setenv("POCL_FULL_REPLICATION_THRESHOLD", "0", /*replace=*/0);
  MDH_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open(libraries.loader));
  // As the drivers behind the loader: as long as the process.
  auto* functions = new OpenClFunctions();
  MDH_RETURN_IF_ERROR(LoadOpenClFunctions(library, functions));
  MDH_ASSIGN_OR_RETURN(const std::vector<void*> platforms, Platforms(*functions));
  std::vector<std::unique_ptr<ComputeDevice>> found;
  int number = 0;
  for (void* const platform : platforms) {
    MDH_ASSIGN_OR_RETURN(const std::string name, PlatformName(*functions, platform));
    MDH_ASSIGN_OR_RETURN(const std::vector<void*> devices, Devices(*functions, platform));
    for (void* const device : devices) {
      if (libraries.number && number++ != *libraries.number) continue;
      MDH_ASSIGN_OR_RETURN(found.emplace_back(),
                           OpenClDevice::Open(*functions, name, device, libraries.pocl_directory));
    }
  }
  if (found.empty() && number > 0) {
    return NotFound("there is no OpenCL device number ", *libraries.number, ", only ", number);
  }
  if (found.empty()) return NotFound("there is no OpenCL device");
  return found;
}

}  // namespace mdh

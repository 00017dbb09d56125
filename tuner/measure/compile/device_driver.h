// The table of drivers: how devices with blocks of threads are opened and compiled for, by their
// kind (core/device/backends.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/device/backends.h"
#include "tuner/device/compute_device.h"

namespace mdh {

struct DriverOptions {
  std::string cuda_root;  // where the CUDA Toolkit is; empty: in the usual places
  std::string directory;  // for files of drivers; empty: their own choice
  int cores = 0;          // that the process is restricted to; 0: all
};

// Where PoCL keeps files of this process, and of no other one; empty: its own choice.
std::string PoclDirectory(const DriverOptions& options);

struct DeviceDriver {
  using Devices = std::vector<std::unique_ptr<ComputeDevice>>;

  DeviceKind kind;
  // Loads the driver: only for child processes. All devices, or only that one. Errors: NotFound if
  // there is no such device; what FindCudaDevices and FindOpenClDevices say.
  Result<Devices> (*open)(std::optional<int> number, const DriverOptions& options);
  // Whether kernels are compiled by NVRTC, which needs no device; else the driver compiles them.
  bool has_nvrtc;
  // Folders that a process must see to compile, and the files of compilers, of this `cuda_root`.
  std::vector<std::string> (*folders)(const std::string& cuda_root);
  std::vector<std::string> (*compiler_files)(const std::string& cuda_root);
  // The least time that compiling a kernel for a GPU is given.
  int64_t least_compile_limit_ns;
};

// Expects a kind that is attached (BackendInfo::is_attached) and has blocks.
const DeviceDriver& DriverOf(DeviceKind kind);

}  // namespace mdh

// One OpenCL device: its context, queue, memory and programs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tuner/device/compute_device.h"
#include "tuner/device/opencl/opencl_functions.h"
#include "tuner/device/opencl/pocl_any_size.h"

namespace mdh {

struct OpenClContext {
  const OpenClFunctions& functions;  // lives as long as the process
  void* device;
  void* context;
  void* queue;              // in order, keeps times
  int64_t alignment_bytes;  // of sub-buffers
};

class OpenClGate;

class OpenClDevice final : public ComputeDevice {
 public:
  // Creates context and queue. `pocl_directory`: as OpenClLibraries. Errors: Internal, naming the
  // call.
  static Result<std::unique_ptr<OpenClDevice>> Open(const OpenClFunctions& functions,
                                                    std::string platform, void* device,
                                                    const std::string& pocl_directory);
  ~OpenClDevice() override;

  const DeviceDescription& description() const override { return description_; }
  std::string platform() const override { return platform_; }
  std::string driver() const override { return driver_; }
  Result<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes, int64_t guard_bytes) override;
  Result<std::unique_ptr<DeviceProgram>> Compile(const Kernel& kernel) override;
  Result<std::string> CompileToBinary(const Kernel& kernel) override;
  Result<std::unique_ptr<DeviceProgram>> LoadBinary(const Kernel& kernel,
                                                    const std::string& binary) override;
  Result<std::unique_ptr<DeviceFunction>> CompileFunction(const FunctionSource& source) override;
  Status Finish() override;
  const OpenClContext& context() const { return context_; }

 private:
  OpenClDevice(OpenClContext context, std::string platform, std::string driver,
               DeviceDescription description);
  Status CheckKernel(const Kernel& kernel) const;

  OpenClContext context_;
  std::string platform_, driver_;
  DeviceDescription description_;
  std::unique_ptr<OpenClGate> gate_;     // none where kernels run on the host's own cores
  std::optional<PoclAnySize> any_size_;  // of PoCL
};

}  // namespace mdh

#include "tuner/device/opencl/opencl_device.h"

#include <utility>

#include "codegen/program/kernel.h"
#include "tuner/device/opencl/opencl_description.h"
#include "tuner/device/opencl/opencl_function.h"
#include "tuner/device/opencl/opencl_gate.h"
#include "tuner/device/opencl/opencl_memory.h"
#include "tuner/device/opencl/opencl_program.h"

namespace mdh {

Result<std::unique_ptr<OpenClDevice>> OpenClDevice::Open(const OpenClFunctions& functions,
                                                         std::string platform, void* device,
                                                         const std::string& pocl_directory) {
  MDH_ASSIGN_OR_RETURN(DeviceDescription description, DescribeOpenClDevice(functions, device));
  MDH_ASSIGN_OR_RETURN(const int64_t alignment, OpenClAlignment(functions, device));
  MDH_ASSIGN_OR_RETURN(std::string driver,
                       OpenClDeviceText(functions, device, opencl::kDriverVersion));
  int code = 0;
  void* const context = functions.CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  MDH_RETURN_IF_ERROR(CheckOpenCl("clCreateContext", code));
  void* const queue = functions.CreateCommandQueue(context, device, opencl::kQueueProfiling, &code);
  if (code != 0) {
    functions.ReleaseContext(context);
    return CheckOpenCl("clCreateCommandQueue", code);
  }
  std::unique_ptr<OpenClDevice> opened(
      new OpenClDevice({functions, device, context, queue, alignment}, std::move(platform),
                       std::move(driver), std::move(description)));
  if (opened->platform_ == "Portable Computing Language") {
    opened->any_size_.emplace(pocl_directory);
  }
  return opened;
}

OpenClDevice::OpenClDevice(OpenClContext context, std::string platform, std::string driver,
                           DeviceDescription description)
    : context_(context),
      platform_(std::move(platform)),
      driver_(std::move(driver)),
      description_(std::move(description)) {
  if (description_.blocks.warp_size > 1) gate_ = std::make_unique<OpenClGate>(context_);
}

OpenClDevice::~OpenClDevice() {
  gate_.reset();
  context_.functions.ReleaseCommandQueue(context_.queue);
  context_.functions.ReleaseContext(context_.context);
}

Result<std::unique_ptr<DeviceMemory>> OpenClDevice::Allocate(int64_t bytes, int64_t guard_bytes) {
  const int64_t unit = context_.alignment_bytes;
  auto memory =
      std::make_unique<OpenClMemory>(context_, bytes, (guard_bytes + unit - 1) / unit * unit);
  MDH_RETURN_IF_ERROR(memory->Create());
  return memory;
}

Result<std::unique_ptr<DeviceProgram>> OpenClDevice::Compile(const Kernel& kernel) {
  MDH_RETURN_IF_ERROR(CheckKernel(kernel));
  return CompileOpenClKernel(context_, gate_.get(), kernel);
}

Result<std::string> OpenClDevice::CompileToBinary(const Kernel& kernel) {
  MDH_RETURN_IF_ERROR(CheckKernel(kernel));
  return OpenClKernelBinary(context_, kernel, any_size_ ? &*any_size_ : nullptr);
}

Result<std::unique_ptr<DeviceProgram>> OpenClDevice::LoadBinary(const Kernel& kernel,
                                                                const std::string& binary) {
  MDH_RETURN_IF_ERROR(CheckKernel(kernel));
  return LoadOpenClKernel(context_, gate_.get(), kernel, binary);
}

Status OpenClDevice::CheckKernel(const Kernel& kernel) const {
  if (kernel.language == Language::kOpenClC) return CheckLaunches(kernel, description_);
  return InvalidArgument("an OpenCL device cannot compile ", Name(kernel.language));
}

Result<std::unique_ptr<DeviceFunction>> OpenClDevice::CompileFunction(
    const FunctionSource& source) {
  return CompileOpenClFunction(context_, source);
}

Status OpenClDevice::Finish() {
  return CheckOpenCl("clFinish", context_.functions.Finish(context_.queue));
}

}  // namespace mdh

// Generated kernels in OpenCL C: compiling, loading and launching them.
#pragma once

#include <memory>
#include <string>

#include "codegen/kernel.h"
#include "tuner/device/opencl_device.h"

namespace mdh {

// Errors: as ComputeDevice::Compile, CompileToBinary and LoadBinary, the launches' limits aside.
// The context must outlive the programs.
Result<std::unique_ptr<DeviceProgram>> CompileOpenClKernel(const OpenClContext& context,
                                                           const Kernel& kernel);
Result<std::string> OpenClKernelBinary(const OpenClContext& context, const Kernel& kernel);
Result<std::unique_ptr<DeviceProgram>> LoadOpenClKernel(const OpenClContext& context,
                                                        const Kernel& kernel,
                                                        const std::string& binary);

}  // namespace mdh

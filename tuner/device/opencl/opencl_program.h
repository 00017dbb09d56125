// Generated kernels in OpenCL C: compiling, loading and launching them.
#pragma once

#include <memory>
#include <string>

#include "codegen/program/kernel.h"
#include "tuner/device/opencl/opencl_device.h"
#include "tuner/device/opencl/opencl_gate.h"

namespace mdh {

// Errors: as ComputeDevice::Compile, CompileToBinary and LoadBinary, the launches' limits aside.
// The context and the gate must outlive the programs; without a gate, the time of many short calls
// is the host's for enqueuing them. `any_size`: of PoCL; nullptr elsewhere.
Result<std::unique_ptr<DeviceProgram>> CompileOpenClKernel(const OpenClContext& context,
                                                           OpenClGate* gate, const Kernel& kernel);
Result<std::string> OpenClKernelBinary(const OpenClContext& context, const Kernel& kernel,
                                       PoclAnySize* any_size);
Result<std::unique_ptr<DeviceProgram>> LoadOpenClKernel(const OpenClContext& context,
                                                        OpenClGate* gate, const Kernel& kernel,
                                                        const std::string& binary);

}  // namespace mdh

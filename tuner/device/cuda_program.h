// Generated kernels in CUDA C++: compiling them to machine code, loading and launching that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/kernel.h"
#include "tuner/device/cuda_memory.h"

namespace mdh {

// Machine code for sm_<capability>; needs no device. Errors: as Nvrtc::Compile, also
// InvalidArgument if the kernel is in another language.
Result<std::string> CompileToCubin(const Nvrtc& nvrtc, int capability, const Kernel& kernel);

// For the current context. The driver must outlive the program. Errors: as
// ComputeDevice::LoadBinary.
Result<std::unique_ptr<DeviceProgram>> LoadCudaProgram(const CudaDriver& driver,
                                                       std::vector<KernelLaunch> launches,
                                                       const std::string& image);

}  // namespace mdh

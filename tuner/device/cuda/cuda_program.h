// Generated kernels in CUDA C++: compiling them to machine code, loading and launching that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/program/kernel.h"
#include "tuner/device/compiler_report.h"
#include "tuner/device/cuda/cuda_memory.h"
#include "tuner/device/cuda/nvcc.h"

namespace mdh {

struct Cubin {
  std::string image;
  std::vector<FunctionResources> functions;  // that the compiler reports on
};

// Machine code for sm_<capability>; needs no device. Errors: as Nvrtc::Compile, also
// InvalidArgument if the kernel is in another language.
Result<Cubin> CompileToCubin(const Nvrtc& nvrtc, int capability, const Kernel& kernel);

// The same by nvcc. Errors: as Nvcc::Compile, also InvalidArgument if the kernel is in another
// language.
Result<std::string> CompileToCubin(const Nvcc& nvcc, int capability, const Kernel& kernel,
                                   const std::string& directory);

// For the current context, of a device of that compute capability, for which the image was
// compiled. The functions must outlive the program. Errors: as ComputeDevice::LoadBinary.
Result<std::unique_ptr<DeviceProgram>> LoadCudaProgram(const CudaFunctions& functions,
                                                       int capability,
                                                       std::vector<KernelLaunch> launches,
                                                       const std::string& image);

}  // namespace mdh

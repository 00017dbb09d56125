// Kernel functions of anybody's CUDA C++.
#pragma once

#include <memory>

#include "tuner/device/cuda/cuda_memory.h"

namespace mdh {

// As ComputeDevice::CompileFunction, for the device of the current context. The driver must outlive
// the function.
Result<std::unique_ptr<DeviceFunction>> CompileCudaFunction(const CudaDriver& driver,
                                                            int compute_capability,
                                                            const FunctionSource& source);

}  // namespace mdh

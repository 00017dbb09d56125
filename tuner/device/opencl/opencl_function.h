// Programs of OpenCL, and kernel functions of anybody's source.
#pragma once

#include <memory>
#include <string>

#include "tuner/device/opencl/opencl_device.h"

namespace mdh {

// A program that is built, to be released by the caller. Errors: InvalidArgument with the
// compiler's log; Internal, naming the call.
Result<void*> BuildOpenClProgram(const OpenClContext& context, const std::string& source,
                                 const std::string& options);

// Nanoseconds from the start of a command to the end of one, by the device's clock; both have
// ended. Errors: Internal, naming the call.
Result<double> OpenClTimeBetween(const OpenClFunctions& functions, void* first, void* last);

// As ComputeDevice::CompileFunction. The context must outlive the function.
Result<std::unique_ptr<DeviceFunction>> CompileOpenClFunction(const OpenClContext& context,
                                                              const FunctionSource& source);

}  // namespace mdh

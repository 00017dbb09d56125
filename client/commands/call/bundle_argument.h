// --bundle FILE: kernels without a daemon, as inputs of builds.
#pragma once

#include <string>

#include "client/commands/call/device_argument.h"
#include "core/base/status.h"
#include "core/pipeline/computation.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

// The record of `computation` in the bundle at `path` for `device`, with its kernel, made by
// whichever compiler and version of the generator the bundle prefers. A device that is not given is
// the CPU of this machine; where the bundle has nothing for that but is for one device, it is that
// one. Errors: those of BundleFile::Open; kUsage for a device that only a daemon knows; NotFound,
// naming the devices that the bundle is for; those of KernelOf.
Result<v1::GetKernelResponse> FindInBundle(const std::string& path,
                                           const ComputationView& computation,
                                           v1::NumericsPolicy numerics_policy,
                                           const DeviceArgument& device);

}  // namespace mdh

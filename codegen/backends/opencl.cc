// The OpenCL backend: kernel functions in OpenCL C 1.2.
#include "codegen/backends/backends.h"
#include "codegen/backends/c_block_target.h"
#include "codegen/program/kernel.h"

namespace mdh {

Result<Kernel> GenerateOpenCl(const LowLevelExpression& low_level,
                              const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(Kernel kernel, GenerateBlockKernel(low_level, device, OpenClCFor(device)));
  // The second is an error on devices that cannot round so: whoever compiles leaves it out there.
  kernel.compile_options = {"-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt"};
  return kernel;
}

}  // namespace mdh

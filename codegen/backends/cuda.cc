// The CUDA backend: kernel functions in CUDA C++, for nvcc and for NVRTC, which has no headers.
#include "codegen/backends/backends.h"
#include "codegen/backends/c_block_target.h"
#include "codegen/program/kernel.h"

namespace mdh {

Result<Kernel> GenerateCuda(const LowLevelExpression& low_level, const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(Kernel kernel, GenerateBlockKernel(low_level, device, CudaCxx()));
  const bool may_fuse = low_level.parameters().numerics == NumericsPolicy::kReassociate;
  kernel.compile_options = {"--std=c++17", may_fuse ? "--fmad=true" : "--fmad=false"};
  return kernel;
}

}  // namespace mdh

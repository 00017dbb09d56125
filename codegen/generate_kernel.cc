#include "codegen/generate_kernel.h"

#include "codegen/backends/backends.h"

namespace mdh {

Result<Kernel> GenerateKernel(const LowLevelExpression& low_level,
                              const DeviceDescription& device) {
  return BackendOf(low_level.model().kind).has_blocks ? GenerateBlockKernel(low_level, device)
                                                      : GenerateOpenMp(low_level, device);
}

}  // namespace mdh

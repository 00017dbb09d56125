#include "codegen/generate_kernel.h"

#include "absl/strings/str_cat.h"
#include "codegen/backends/backends.h"

namespace mdh {

Result<Kernel> GenerateKernel(const LowLevelExpression& low_level,
                              const DeviceDescription& device) {
  const SystemModel& model = low_level.model();
  if (model.memory == MemoryKind::kCaches) return GenerateOpenMp(low_level, device);
  switch (device.kind) {
    case DeviceKind::kCuda:
      return GenerateCuda(low_level, device);
    case DeviceKind::kOpenCl:
      return GenerateOpenCl(low_level, device);
    case DeviceKind::kCpu:
      break;
  }
  return absl::UnimplementedError(
      absl::StrCat("no backend generates code of model ", model.name, " for a CPU"));
}

}  // namespace mdh

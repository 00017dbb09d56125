// The backend of a low-level expression.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"

namespace mdh {

std::vector<std::string> OutputNames(const std::vector<KernelArgument>& arguments) {
  std::vector<std::string> names;
  for (const KernelArgument& argument : arguments) {
    if (argument.is_output) names.push_back(argument.name);
  }
  return names;
}

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

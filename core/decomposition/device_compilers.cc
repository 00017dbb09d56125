#include "core/decomposition/device_compilers.h"

#include "absl/strings/match.h"

namespace mdh {

std::vector<Compiler> CompilersOf(const DeviceDescription& device) {
  std::vector<Compiler> compilers;
  const bool has_clang = absl::StrContains(device.compiler, "clang");
  if (absl::StrContains(device.compiler, "gcc") || !has_clang) compilers.push_back(Compiler::kGcc);
  if (has_clang) compilers.push_back(Compiler::kClang);
  return compilers;
}

}  // namespace mdh

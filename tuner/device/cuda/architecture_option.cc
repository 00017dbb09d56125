#include "tuner/device/cuda/architecture_option.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mdh {

std::vector<std::string> WithArchitecture(const std::vector<std::string>& options,
                                          int compute_capability) {
  constexpr absl::string_view kOption = "--gpu-architecture=";
  std::vector<std::string> all = options;
  const bool names_one = std::ranges::any_of(
      all, [&](const std::string& option) { return absl::StartsWith(option, kOption); });
  if (!names_one) all.insert(all.begin(), absl::StrCat(kOption, "sm_", compute_capability));
  return all;
}

}  // namespace mdh

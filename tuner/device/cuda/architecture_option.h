// For which devices CUDA's compilers compile.
#pragma once

#include <string>
#include <vector>

namespace mdh {

// The options, with that of the architecture of devices of that compute capability in front, unless
// one of them names an architecture: kernels for units that are there in one architecture only.
std::vector<std::string> WithArchitecture(const std::vector<std::string>& options,
                                          int compute_capability);

}  // namespace mdh

// A kernel as files: its source, and everything that is needed to compile and launch it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mdh/v1/kernel.pb.h"

namespace mdh {

// "c", "cl" or "cu".
std::string SourceExtension(const v1::Kernel& kernel);

// Contents of NAME.json. Of kernels for devices with blocks: the functions to launch, with grids
// and blocks; of OpenMP C: the functions to call.
nlohmann::ordered_json LaunchInformation(const std::string& name,
                                         const v1::GetKernelResponse& kernel);

// Names of files without their folder, and their contents. Source and header begin with a comment
// that says for which device the kernel is, when it was measured, and how it is compiled; the
// daemon and what kernels are told apart by know the source without it.
std::vector<std::pair<std::string, std::string>> KernelFiles(const std::string& name,
                                                             const v1::GetKernelResponse& kernel);

}  // namespace mdh

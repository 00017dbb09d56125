#include "tuner/device/opencl/pocl_any_size.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

std::filesystem::path LibraryIn(const std::string& folder, const std::string& function) {
  return std::filesystem::path(folder) / function / "0-0-0" / absl::StrCat(function, ".so");
}

}  // namespace

std::string PoclAnySize::SourceOfUnknown(const Kernel& kernel) const {
  std::string source;
  for (const KernelLaunch& launch : kernel.launches) {
    if (libraries_.contains(launch.function)) continue;
    absl::StrAppend(&source, "__kernel void ", launch.function, "(void) {}\n");
  }
  return source;
}

void PoclAnySize::Keep(const Kernel& kernel) {
  const std::string folder = Folder();
  if (folder.empty()) return;
  for (const KernelLaunch& launch : kernel.launches) {
    const std::ifstream file(LibraryIn(folder, launch.function), std::ios::binary);
    if (!file.good()) continue;
    std::stringstream text;
    text << file.rdbuf();
    libraries_[launch.function] = text.str();
  }
}

void PoclAnySize::Provide(const Kernel& kernel) const {
  const std::string folder = Folder();
  if (folder.empty()) return;
  for (const KernelLaunch& launch : kernel.launches) {
    const auto known = libraries_.find(launch.function);
    if (known == libraries_.end()) continue;
    const std::filesystem::path path = LibraryIn(folder, launch.function);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    file << known->second;
    file.close();
    // One that is cut off would end the process.
    if (!file.good()) std::filesystem::remove(path, error);
  }
}

std::string PoclAnySize::Folder() const {
  std::error_code error;
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    if (!std::filesystem::exists(entry.path() / "program.bc", error)) continue;
    if (!found.empty()) return "";
    found = entry.path().string();
  }
  return found;
}

}  // namespace mdh

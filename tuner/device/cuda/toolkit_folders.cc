#include "tuner/device/cuda/toolkit_folders.h"

#include <glob.h>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

void AppendMatches(const std::string& pattern, std::vector<std::string>* folders) {
  glob_t found = {};
  if (glob(pattern.c_str(), GLOB_ONLYDIR, nullptr, &found) == 0) {
    // The newest last in the alphabet, first here.
    for (size_t n = found.gl_pathc; n-- > 0;) folders->emplace_back(found.gl_pathv[n]);
  }
  globfree(&found);
}

}  // namespace

std::vector<std::string> FoldersOfToolkits(const std::string& root,
                                           std::initializer_list<const char*> below) {
  std::vector<std::string> folders;
  for (const char* folder : below) {
    if (!root.empty()) AppendMatches(absl::StrCat(root, folder), &folders);
  }
  for (const char* folder : below) {
    AppendMatches(absl::StrCat("/usr/local/cuda*", folder), &folders);
  }
  return folders;
}

}  // namespace mdh

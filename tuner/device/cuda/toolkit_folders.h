// Where CUDA Toolkits are installed.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace mdh {

// The folders there are, of `below` ("/lib64", ...) in each toolkit: `root` (empty: none), then
// /usr/local/cuda*, the newest first.
std::vector<std::string> FoldersOfToolkits(const std::string& root,
                                           std::initializer_list<const char*> below);

}  // namespace mdh

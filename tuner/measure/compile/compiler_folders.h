// Where C compilers are installed, which may be anywhere: modules, conda, nix, spack.
#pragma once

#include <string>
#include <vector>

#include "tuner/process/child_process.h"

namespace mdh {

// Files and folders that the compilers in `path` (as $PATH) need to work, as they say themselves:
// their programs, libraries, headers, and what these are linked with, with the links that lead
// there; parents before what is in them. Nothing of compilers below /usr and /opt, which everybody
// may read. `directory`: for what they print, meanwhile.
std::vector<std::string> FoldersOfCompilers(const std::string& path, const std::string& directory,
                                            Supervisor& supervisor);

}  // namespace mdh

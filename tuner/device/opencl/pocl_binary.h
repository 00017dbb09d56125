// What PoCL compiles into the binary of a program. It makes machine code of a kernel for one size
// of blocks; asked for a binary, it makes code for any size of every kernel, then code of every
// kernel for all sizes that an environment variable names. A launch needs one of them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "codegen/program/kernel.h"

namespace mdh {

// Names the sizes of the kernel's launches in the environment variable POCL_BINARY_SPECIALIZE_WG of
// this process. Before the program is built.
void NamePoclSizes(const Kernel& kernel);

// In the folder for files of PoCL ("POCL_CACHE_DIR"), of this process alone: puts something in the
// places of code that no launch needs, which PoCL takes for compiled then. Between building a
// program and asking for its binary, while there is no other one. Where the folder looks otherwise
// than that of PoCL 3.1, nothing is done, and all is compiled.
void StandInForPoclSizes(const Kernel& kernel, const std::string& folder);

// A shared library that defines the function of PoCL's code for the kernel of that name. Calling it
// ends the process: its page is no code.
std::string PoclStandIn(absl::string_view kernel);

}  // namespace mdh

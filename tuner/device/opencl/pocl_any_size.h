// What PoCL's binaries of kernels do without.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "codegen/program/kernel.h"

namespace mdh {

// Before PoCL (3.1) gives a program's binary, it compiles each function for blocks of any size,
// unless a library of that lies in the program's folder already. Nobody calls it: a launch runs the
// version for its own size, which is compiled as it is first launched. (Sizes that binaries are to
// have could be named by POCL_BINARY_SPECIALIZE_WG, but PoCL reads that once in a process.) So
// functions of the same names that do nothing are compiled instead, once for all kernels.
class PoclAnySize {
 public:
  // `directory`: POCL_CACHE_DIR, of this process alone, which compiles one kernel after the other.
  // As POCL_KERNEL_CACHE is 0, what is there is of the program that was built last.
  explicit PoclAnySize(std::string directory) : directory_(std::move(directory)) {}

  // Functions that do nothing, for those of the kernel that are not known yet; empty: none.
  std::string SourceOfUnknown(const Kernel& kernel) const;
  // When the binary of these is there, and before their program is released.
  void Keep(const Kernel& kernel);
  // When the kernel is built, and before its binary is asked for. Without a folder of the program,
  // or what was kept, PoCL compiles.
  void Provide(const Kernel& kernel) const;

 private:
  std::string Folder() const;  // of the program; empty: there is none, or several

  const std::string directory_;
  std::map<std::string, std::string> libraries_;  // by function
};

}  // namespace mdh

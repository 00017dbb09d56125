// Compiled kernels on the disk, so that a kernel is compiled once for a user and a machine.
#pragma once

#include <string>

#include "core/status.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

// A folder that belongs to this user alone. Thread-safe, and processes may share it: a file appears
// when it is complete, and whoever is second finds it or replaces it by the same. Anything in it
// may be removed at any time.
class KernelCache {
 public:
  // Makes the folder, with those above it, if it is not there. Errors: FailedPrecondition if others
  // could write to it, or if it cannot be made.
  static Result<KernelCache> Open(const std::string& directory);

  // The file of a shared object in which `mdh_call` runs the kernel: int mdh_call(void* const*
  // arguments), which gives what the kernel's entry function gives. Compiled unless it is there.
  // mdh_call_openmp is to be set before, if it is there (core/kernel_call.h): the code does not
  // depend on the OpenMP runtime of the process.
  // `compiler`: a program that understands gcc's options; empty: the one that the kernel was
  // measured with, or cc if that is missing. `cpu`: what code for this machine depends on. Errors:
  // InvalidArgument if it is no kernel in C; FailedPrecondition, with the first lines that the
  // compiler wrote, if it does not compile; ResourceExhausted if the disk is full.
  struct Object {
    std::string path;
    std::string compiler;  // that made it
  };
  Result<Object> SharedObject(const v1::Kernel& kernel, const std::string& compiler,
                              const std::string& cpu) const;

  const std::string& directory() const { return directory_; }

 private:
  explicit KernelCache(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace mdh

// Compiled kernels on the disk, so that a kernel is compiled once for a user and a machine.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "core/base/trusted_path.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

// A folder that belongs to this user alone. Thread-safe, and processes may share it: a file appears
// when it is complete and on the disk, with its sum, and whoever is second finds it or replaces it
// by the same; one that was damaged since is compiled again. Anything in it may be removed at any
// time. Where it cannot be written to, or is full, kernels are compiled in a temporary folder.
class KernelCache {
 public:
  // Makes the folder, with those above it, if it is not there. Errors: PermissionDenied if others
  // could write to it (core/base/trusted_path.h); FailedPrecondition if it cannot be made.
  static Result<KernelCache> Open(const std::string& directory, const TrustedUsers& trusted = {});
  // Keeps nothing: each kernel is compiled when it is loaded. `why`: for the notices.
  static KernelCache Nowhere(std::string why) { return KernelCache("", std::move(why)); }

  // The file of a shared object in which `mdh_call` runs the kernel: int mdh_call(void* const*
  // arguments), which gives what the kernel's entry function gives. Compiled unless it is there.
  // mdh_call_openmp is to be set before, if it is there (core/kernel/kernel_call.h): the
  // code does not depend on the OpenMP runtime of the process. `compiler`: a program that
  // understands gcc's options; empty: the one that the kernel was measured with, or cc if that is
  // missing. `cpu`: what code for this machine depends on. Errors: InvalidArgument if it is no
  // kernel in C; FailedPrecondition, with the first lines that the compiler wrote, if it does not
  // compile; ResourceExhausted if the disk is full everywhere.
  struct Object {
    std::string path;
    std::string compiler;     // that made it
    std::string notice = "";  // why it is not kept; empty: it is
    // Of one that is not kept, with the file in it: removed with the last of these.
    std::shared_ptr<const std::string> folder = nullptr;
  };
  Result<Object> SharedObject(const v1::Kernel& kernel, const std::string& compiler,
                              const std::string& cpu) const;

  // Empty: nowhere.
  const std::string& directory() const { return directory_; }

 private:
  KernelCache(std::string directory, std::string why_none)
      : directory_(std::move(directory)), why_none_(std::move(why_none)) {}
  std::string directory_;
  std::string why_none_;
};

}  // namespace mdh

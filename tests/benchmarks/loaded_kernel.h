// A generated kernel, compiled and loaded into this process, to be measured beside other libraries.
#pragma once

#include <memory>
#include <string>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "tests/benchmarks/loaded_library.h"

namespace mdh {

// Not thread-safe. The kernel's threads are those of this process's OpenMP pool, which the other
// libraries use, too: two pools would disturb each other.
class LoadedKernel {
 public:
  // Compiles in `directory`, with the options that the kernel was tuned with. From then on this
  // process's OpenMP has `threads` threads.
  // Errors: FailedPrecondition with the compiler's message, ResourceExhausted.
  static Result<std::unique_ptr<LoadedKernel>> Load(const Kernel& kernel,
                                                    const std::string& directory, int threads);
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  // `buffers`: inputs, then outputs, as in Kernel::arguments. As programs call it
  // (core/kernel/kernel_call.h).
  void Run(void* const* buffers);

 private:
  using Call = int (*)(void* const* buffers);
  explicit LoadedKernel(LoadedLibrary library) : library_(std::move(library)) {}

  const LoadedLibrary library_;
  Call call_ = nullptr;
};

}  // namespace mdh

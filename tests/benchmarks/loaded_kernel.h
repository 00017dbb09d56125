// A generated kernel, compiled and loaded into this process, to be measured beside other libraries.
#pragma once

#include <memory>
#include <string>

#include "codegen/kernel.h"
#include "core/status.h"
#include "tests/benchmarks/loaded_library.h"

namespace mdh {

// Not thread-safe. The kernel's threads are those of this process's OpenMP pool, which the other
// libraries use, too: two pools would disturb each other.
class LoadedKernel {
 public:
  // Compiles in `directory`, with the options that the kernel was tuned with.
  // Errors: FailedPrecondition with the compiler's message, ResourceExhausted.
  static Result<std::unique_ptr<LoadedKernel>> Load(const Kernel& kernel,
                                                    const std::string& directory, int threads);
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  ~LoadedKernel();

  // `buffers`: inputs, then outputs, as in Kernel::arguments.
  void Run(void* const* buffers);

 private:
  using Body = void (*)(int stage, int thread, int threads, void* const* buffers, void* scratch);
  explicit LoadedKernel(LoadedLibrary library) : library_(std::move(library)) {}

  const LoadedLibrary library_;
  Body body_ = nullptr;
  int stages_ = 1;
  int threads_ = 1;
  void* scratch_ = nullptr;  // owned; may be null
};

}  // namespace mdh

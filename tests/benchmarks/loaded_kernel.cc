#include "tests/benchmarks/loaded_kernel.h"

#include <omp.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr char kTrampoline[] = "mdh_benchmark_body";

// Calls the body with buffers from an array, so that one function type fits every kernel.
std::string TrampolineSource(const Kernel& kernel) {
  std::string source =
      absl::StrCat("\nvoid ", kTrampoline,
                   "(int stage, int thread, int threads, void* const* buffers, void* scratch) {\n",
                   "  ", kernel.entry, "_body(stage, thread, threads");
  for (size_t n = 0; n < kernel.arguments.size(); ++n) {
    absl::StrAppend(&source, ", buffers[", n, "]");
  }
  return absl::StrCat(source, ", scratch);\n}\n");
}

}  // namespace

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::Load(const Kernel& kernel,
                                                         const std::string& directory,
                                                         int threads) {
  MDH_ASSIGN_OR_RETURN(
      LoadedLibrary library,
      LoadedLibrary::Compile(absl::StrCat(kernel.source, TrampolineSource(kernel)), kernel.compiler,
                             kernel.compile_options, directory, kernel.entry));
  std::unique_ptr<LoadedKernel> loaded(new LoadedKernel(std::move(library)));
  loaded->body_ = reinterpret_cast<Body>(loaded->library_.Symbol(kTrampoline));
  auto* scratch_bytes = reinterpret_cast<int64_t (*)(int)>(
      loaded->library_.Symbol(absl::StrCat(kernel.entry, "_scratch_bytes")));
  if (loaded->body_ == nullptr || scratch_bytes == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the library of ", kernel.entry, " lacks a function of the kernel"));
  }
  loaded->stages_ = kernel.stages;
  loaded->threads_ = threads;
  const int64_t bytes = (scratch_bytes(threads) + 63) / 64 * 64;
  if (bytes > 0) loaded->scratch_ = std::aligned_alloc(64, static_cast<size_t>(bytes));
  if (bytes > 0 && loaded->scratch_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes of scratch"));
  }
  return loaded;
}

LoadedKernel::~LoadedKernel() { std::free(scratch_); }

void LoadedKernel::Run(void* const* buffers) {
#pragma omp parallel num_threads(threads_)
  for (int stage = 0; stage < stages_; ++stage) {
    body_(stage, omp_get_thread_num(), threads_, buffers, scratch_);
    // After the last one the region ends, which is a barrier of its own.
    if (stage + 1 == stages_) break;
#pragma omp barrier
  }
}

}  // namespace mdh

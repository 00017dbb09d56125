#include "tests/benchmarks/loaded_kernel.h"

#include <omp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/kernel/kernel_call.h"

namespace mdh {

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::Load(const Kernel& kernel,
                                                         const std::string& directory,
                                                         int threads) {
  const KernelCall call = {.entry = kernel.entry,
                           .arguments = static_cast<int>(kernel.arguments.size()),
                           .stages = kernel.stages};
  MDH_ASSIGN_OR_RETURN(
      LoadedLibrary library,
      LoadedLibrary::Compile(absl::StrCat(kernel.source, CallSource(call)), kernel.compiler,
                             CallOptions(call, kernel.compile_options), directory, kernel.entry));
  MDH_RETURN_IF_ERROR(ConnectOpenMp(library.handle()));
  std::unique_ptr<LoadedKernel> loaded(new LoadedKernel(std::move(library)));
  omp_set_num_threads(threads);
  loaded->call_ = reinterpret_cast<Call>(loaded->library_.Symbol("mdh_call"));
  if (loaded->call_ != nullptr) return loaded;
  return absl::FailedPreconditionError(
      absl::StrCat("the library of ", kernel.entry, " has no mdh_call"));
}

void LoadedKernel::Run(void* const* buffers) { call_(buffers); }

}  // namespace mdh

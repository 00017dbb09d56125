#include "client/cpu_kernel.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/device/device_description.h"
#include "core/kernel/kernel_call.h"

namespace mdh {
namespace {

// Nothing is unloaded before the process ends: the threads of the OpenMP library that came with the
// first kernel wait in its code.
constexpr int kLoadFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

// What code for "the native machine" depends on: a home folder may be shared by different ones.
std::string NativeCpu() {
  const Result<DeviceDescription> cpu = DescribeHostCpu();
  return cpu.ok() ? absl::StrCat(cpu->name, "\n", cpu->isa) : "";
}

// GNU's OpenMP runtime keeps its threads with the thread that calls. In a forked process the thread
// that forked still believes in those of the parent, and would wait for them for ever: its calls
// are made by other threads, which have their own.
std::atomic<bool> is_forked = false;
pthread_t thread_that_forked;

void NoteFork() {
  thread_that_forked = pthread_self();
  is_forked = true;
}

int RunOnFreshThread(int (*call)(void* const*), void* const* arguments) {
  int code = 1;
  try {
    std::thread([&] { code = call(arguments); }).join();
  } catch (const std::system_error&) {  // there is no thread
  }
  return code;
}

// Of its measurement, as far as the kernel uses them.
int ThreadsOf(const v1::Kernel& kernel) {
  constexpr std::string_view kMost = "#define MDH_MOST_THREADS ";
  const size_t at = kernel.source().find(kMost);
  if (at == std::string::npos) return kernel.threads();
  return std::min(kernel.threads(), std::atoi(kernel.source().c_str() + at + kMost.size()));
}

// Empty if OpenMP gives a kernel that runs on its threads as many as it is for.
std::string WarningOfThreads(const v1::Kernel& kernel, void* library) {
  if (dlsym(library, "mdh_call_openmp") == nullptr) return "";
  const Result<int> threads = ThreadsOfOpenMp();
  if (!threads.ok() || *threads >= ThreadsOf(kernel)) return "";
  return absl::StrCat(
      "the kernel ", kernel.entry(), " is for ", ThreadsOf(kernel),
      " threads, of which OpenMP gives it ", *threads,
      " here (OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_PLACES, or the machine): it may "
      "take longer");
}

}  // namespace

Result<std::unique_ptr<CpuKernel>> CpuKernel::Load(const v1::Kernel& kernel,
                                                   const KernelCache& cache,
                                                   const std::string& compiler) {
  [[maybe_unused]] static const int noted = pthread_atfork(nullptr, nullptr, NoteFork);
  const std::string cpu = NativeCpu();
  MDH_ASSIGN_OR_RETURN(KernelCache::Object object, cache.SharedObject(kernel, compiler, cpu));
  void* library = dlopen(object.path.c_str(), kLoadFlags);
  if (library == nullptr) {
    // A file that a crash of the machine left damaged, or of another C library: compiled once more.
    unlink(object.path.c_str());
    MDH_ASSIGN_OR_RETURN(object, cache.SharedObject(kernel, compiler, cpu));
    library = dlopen(object.path.c_str(), kLoadFlags);
  }
  if (library == nullptr) return FailedPrecondition(dlerror());
  const auto call = reinterpret_cast<Call>(dlsym(library, "mdh_call"));
  if (call == nullptr) {
    dlclose(library);
    return FailedPrecondition(object.path, " has no kernel");
  }
  if (const Status connected = ConnectOpenMp(library); !connected.ok()) {
    dlclose(library);
    return connected;
  }
  std::unique_ptr<CpuKernel> loaded(new CpuKernel(library, call, kernel));
  std::vector<std::string> warnings = {object.notice, WarningOfThreads(kernel, library)};
  if (compiler.empty() && object.compiler != kernel.compiler() && !kernel.compiler().empty()) {
    warnings.push_back(absl::StrCat("the kernel ", kernel.entry(), " was measured with ",
                                    kernel.compiler(),
                                    ", which cannot be run here: it is compiled with ",
                                    object.compiler, ", and may take longer"));
  }
  std::erase(warnings, "");
  loaded->warning_ = absl::StrJoin(warnings, "; ");
  return loaded;
}

CpuKernel::~CpuKernel() { dlclose(library_); }

Status CpuKernel::Run(absl::Span<void* const> arguments) const {
  if (arguments.size() != arguments_.size()) {
    const std::string names = absl::StrJoin(
        arguments_, ", ", [](std::string* out, const auto& a) { out->append(a.name()); });
    return InvalidArgument("the kernel has ", arguments_.size(), " arguments (", names, "), not ",
                           arguments.size());
  }
  for (size_t n = 0; n < arguments.size(); ++n) {
    if (arguments[n] == nullptr) {
      return InvalidArgument("the argument ", arguments_[n].name(), " is NULL");
    }
  }
  const bool is_elsewhere = is_forked && pthread_equal(pthread_self(), thread_that_forked) != 0;
  const int code =
      is_elsewhere ? RunOnFreshThread(call_, arguments.data()) : call_(arguments.data());
  if (code != 0) return ResourceExhausted("there is no memory for the kernel's scratch buffer");
  return absl::OkStatus();
}

Status CpuKernel::RunBuffers(absl::Span<const BufferView> arguments) const {
  MDH_RETURN_IF_ERROR(CheckArguments(entry_, arguments_, arguments));
  std::vector<void*> pointers;
  for (const BufferView& buffer : arguments) pointers.push_back(buffer.data);
  return Run(absl::MakeConstSpan(pointers));
}

}  // namespace mdh

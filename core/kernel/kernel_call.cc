#include "core/kernel/kernel_call.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"

namespace mdh {
namespace {

// What the files of OpenMP runtimes are called; copies that come with other software have a number
// behind the name.
constexpr absl::string_view kRuntimes[] = {"libgomp", "libiomp5", "libomp"};
constexpr const char* kFiles[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};

// $0 entry, $1 arguments, $2 scratch memory
constexpr char kPlainCall[] = R"(
int mdh_call(void* const* a) { return $0($1$2); }
)";

// $0 entry, $1 arguments, $2 scratch memory, $3 stages
constexpr char kCallOnThreads[] =
#include "core/kernel/call_on_threads.inc"
    ;

bool IsRuntime(absl::string_view path) {
  const absl::string_view file = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(kRuntimes, [&](absl::string_view name) {
    if (!absl::StartsWith(file, name) || file.size() == name.size()) return false;
    return absl::StrContains("-.", file[name.size()]) && absl::StrContains(file, ".so");
  });
}

// The first runtime that was loaded, or nullptr.
void* LoadedRuntime() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* path) {
        if (!IsRuntime(library->dlpi_name)) return 0;
        *static_cast<std::string*>(path) = library->dlpi_name;
        return 1;
      },
      &found);
  return found.empty() ? nullptr : dlopen(found.c_str(), RTLD_NOW | RTLD_NOLOAD);
}

// The same, or one of those that can be loaded; nullptr: there is none.
void* AnyRuntime() {
  void* library = LoadedRuntime();
  // Its threads wait in its code until the process ends.
  for (const char* file : kFiles) {
    if (library == nullptr) library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
  return library;
}

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

std::string CallSource(const KernelCall& call) {
  std::string arguments;
  for (int n = 0; n < call.arguments; ++n) absl::StrAppend(&arguments, "a[", n, "], ");
  const std::string scratch = call.has_scratch ? absl::StrCat("a[", call.arguments, "]") : "0";
  if (call.stages == 0) return absl::Substitute(kPlainCall, call.entry, arguments, scratch);
  return absl::Substitute(kCallOnThreads, call.entry, arguments, scratch, call.stages);
}

std::vector<std::string> CallOptions(const KernelCall& call, std::vector<std::string> options) {
  if (call.stages > 0) {
    std::erase(options, "-fopenmp");
  }
  return options;
}

Result<OpenMpRuntime> FindOpenMpRuntime() {
  void* const library = AnyRuntime();
  OpenMpRuntime runtime;
  if (library != nullptr && Find(library, "GOMP_parallel", &runtime.parallel) &&
      Find(library, "GOMP_barrier", &runtime.barrier) &&
      Find(library, "omp_get_max_threads", &runtime.most_threads) &&
      Find(library, "omp_get_num_threads", &runtime.threads) &&
      Find(library, "omp_get_thread_num", &runtime.thread)) {
    return runtime;
  }
  return FailedPrecondition("there is no OpenMP runtime to run kernels on: neither ", kFiles[0],
                            " nor ", kFiles[1], " can be loaded");
}

Result<int> ThreadsOfOpenMp() {
  MDH_ASSIGN_OR_RETURN(const OpenMpRuntime runtime, FindOpenMpRuntime());
  void* const library = AnyRuntime();
  int threads = runtime.most_threads();
  int (*limit)() = nullptr;
  int (*places)() = nullptr;
  int (*cores_of_place)(int) = nullptr;
  if (Find(library, "omp_get_thread_limit", &limit)) threads = std::min(threads, limit());
  if (!Find(library, "omp_get_num_places", &places) || places() == 0 ||
      !Find(library, "omp_get_place_num_procs", &cores_of_place)) {
    return threads;
  }
  int cores = 0;
  for (int place = 0; place < places(); ++place) cores += cores_of_place(place);
  return std::min(threads, cores);
}

Status ConnectOpenMp(void* library, const std::string& suffix) {
  const std::string name = absl::StrCat("mdh_call_openmp", suffix);
  auto* const openmp = static_cast<OpenMpRuntime*>(dlsym(library, name.c_str()));
  if (openmp == nullptr) return absl::OkStatus();
  // The same library may be loaded again while its kernel runs.
  static std::mutex connecting;
  const std::lock_guard<std::mutex> lock(connecting);
  if (openmp->thread != nullptr) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(*openmp, FindOpenMpRuntime());
  return absl::OkStatus();
}

}  // namespace mdh

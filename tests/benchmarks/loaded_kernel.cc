#include "tests/benchmarks/loaded_kernel.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <omp.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/benchmarks/benchmark_case.h"

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

// Runs a program found in PATH with its error output in the file `errors`.
Status RunProgram(const std::vector<std::string>& command, const std::string& errors) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::FailedPreconditionError(absl::StrCat(command[0], " cannot be run"));
  int state = 0;
  if (waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(absl::StrJoin(command, " "), " failed:\n", ReadTextFile(errors).value_or("")));
}

}  // namespace

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::Load(const Kernel& kernel,
                                                         const std::string& directory,
                                                         int threads) {
  const std::string stem = absl::StrCat(directory, "/", kernel.entry);
  std::ofstream source(stem + ".c");
  source << kernel.source << TrampolineSource(kernel);
  source.close();
  if (!source) return absl::FailedPreconditionError(absl::StrCat(stem, ".c cannot be written"));

  std::vector<std::string> command = {kernel.compiler == Compiler::kClang ? "clang" : "gcc",
                                      "-shared",
                                      "-fPIC",
                                      "-o",
                                      stem + ".so",
                                      stem + ".c"};
  command.insert(command.end(), kernel.compile_options.begin(), kernel.compile_options.end());
  MDH_RETURN_IF_ERROR(RunProgram(command, stem + ".log"));

  std::unique_ptr<LoadedKernel> loaded(new LoadedKernel);
  loaded->library_ = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded->library_ == nullptr) return absl::FailedPreconditionError(dlerror());
  loaded->body_ = reinterpret_cast<Body>(dlsym(loaded->library_, kTrampoline));
  auto* scratch_bytes = reinterpret_cast<int64_t (*)(int)>(
      dlsym(loaded->library_, absl::StrCat(kernel.entry, "_scratch_bytes").c_str()));
  if (loaded->body_ == nullptr || scratch_bytes == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(stem, ".so lacks a function of the kernel"));
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

LoadedKernel::~LoadedKernel() {
  std::free(scratch_);
  if (library_ != nullptr) dlclose(library_);
}

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

#include "tests/benchmarks/loaded_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/benchmarks/benchmark_case.h"

namespace mdh {
namespace {

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

Result<LoadedLibrary> LoadedLibrary::Compile(const std::string& source, Compiler compiler,
                                             const std::vector<std::string>& options,
                                             const std::string& directory,
                                             const std::string& name) {
  static std::atomic<int> count{0};
  const std::string stem = absl::StrCat(directory, "/", name, "-", ++count);
  std::ofstream stream(stem + ".c");
  stream << source;
  stream.close();
  if (!stream) return absl::FailedPreconditionError(absl::StrCat(stem, ".c cannot be written"));

  std::vector<std::string> command = {compiler == Compiler::kClang ? "clang" : "gcc",
                                      "-shared",
                                      "-fPIC",
                                      "-o",
                                      stem + ".so",
                                      stem + ".c"};
  command.insert(command.end(), options.begin(), options.end());
  MDH_RETURN_IF_ERROR(RunProgram(command, stem + ".log"));

  LoadedLibrary loaded;
  loaded.library_.reset(dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL));
  if (loaded.library_ == nullptr) return absl::FailedPreconditionError(dlerror());
  return loaded;
}

void* LoadedLibrary::Symbol(const std::string& name) const {
  return dlsym(library_.get(), name.c_str());
}

void LoadedLibrary::Close::operator()(void* library) const { dlclose(library); }

}  // namespace mdh

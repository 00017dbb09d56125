#include "client/kernel_cache.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/canonical.h"  // Sha256Hex
#include "core/kernel_call.h"

namespace mdh {
namespace {

constexpr char kLanguage[] = "OpenMP C";
constexpr char kOtherCompiler[] = "cc";  // where the kernel's own is missing
constexpr size_t kMaxLogBytes = 2'000;
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

Status DiskError(const std::string& what, int error) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? absl::ResourceExhaustedError(message)
                                            : absl::FailedPreconditionError(message);
}

// What is compiled: the kernel, and how it is called.
struct Unit {
  std::string source;
  std::vector<std::string> options;
};
Unit UnitOf(const v1::Kernel& kernel) {
  const KernelCall call = {
      .entry = kernel.entry(), .arguments = kernel.arguments_size(), .stages = kernel.stages()};
  const auto& options = kernel.compile_options();
  return {absl::StrCat(kernel.source(), CallSource(call)),
          CallOptions(call, {options.begin(), options.end()})};
}

std::string NameOf(const Unit& unit, const std::string& compiler, const std::string& cpu) {
  // Lengths before texts: two different kernels never give the same bytes.
  std::string bytes;
  const auto add = [&bytes](const std::string& text) {
    absl::StrAppend(&bytes, text.size(), ":", text);
  };
  for (const std::string& text : {unit.source, compiler, cpu}) add(text);
  for (const std::string& option : unit.options) add(option);
  return Sha256Hex(bytes);
}

// What is left of it is removed in the end.
class TemporaryFile {
 public:
  static Result<TemporaryFile> Make(const std::string& directory, const std::string& suffix) {
    std::string path = absl::StrCat(directory, "/new-XXXXXX", suffix);
    const int file = mkostemps(path.data(), static_cast<int>(suffix.size()), O_CLOEXEC);
    if (file < 0) return DiskError(absl::StrCat("cannot write to ", directory), errno);
    close(file);
    return TemporaryFile(std::move(path));
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  Status WriteText(const std::string& text) const {
    std::ofstream stream(path_, std::ios::binary | std::ios::trunc);
    errno = 0;
    stream << text;
    stream.close();
    return stream ? absl::OkStatus() : DiskError("cannot write " + path_, errno);
  }
  std::string FirstBytes(size_t count) const {
    std::ifstream stream(path_, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    return bytes.substr(0, count);
  }
  Status MoveTo(const std::string& path) {
    if (rename(path_.c_str(), path.c_str()) != 0) return DiskError("cannot write " + path, errno);
    path_.clear();
    return absl::OkStatus();
  }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Runs a program with its output in the file `log`. Gives whether it could be started and its exit
// code was 0.
struct Outcome {
  bool was_started = false;
  bool has_succeeded = false;
};
Outcome RunCompiler(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&actions] { posix_spawn_file_actions_destroy(&actions); };
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  if (posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ) != 0) return {};
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
    // A program that reaps all children may have taken it: the object that is there or not decides.
    if (errno != EINTR) return {.was_started = true, .has_succeeded = true};
  }
  return {.was_started = true, .has_succeeded = WIFEXITED(state) && WEXITSTATUS(state) == 0};
}

// False if the compiler cannot be run.
Result<bool> Compile(const std::string& entry, const std::string& compiler,
                     const std::vector<std::string>& options, const TemporaryFile& source,
                     const TemporaryFile& object, const TemporaryFile& log) {
  std::vector<std::string> command = {compiler, "-shared",     "-fPIC",
                                      "-o",     object.path(), source.path()};
  command.insert(command.end(), options.begin(), options.end());
  const Outcome outcome = RunCompiler(command, log.path());
  if (!outcome.was_started) return false;
  if (outcome.has_succeeded) return true;
  return absl::FailedPreconditionError(absl::StrCat(compiler, " does not compile the kernel ",
                                                    entry, ":\n", log.FirstBytes(kMaxLogBytes)));
}

}  // namespace

Result<KernelCache> KernelCache::Open(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(directory).parent_path(), error);
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make the folder ", directory, ": ", std::strerror(errno)));
  }
  struct stat state = {};
  if (stat(directory.c_str(), &state) != 0 || !S_ISDIR(state.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(directory, " is no folder"));
  }
  if (state.st_uid != geteuid() || (state.st_mode & kOthersMayWrite) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("others may write to ", directory, ", or own it: code from there is not run"));
  }
  return KernelCache(directory);
}

Result<KernelCache::Object> KernelCache::SharedObject(const v1::Kernel& kernel,
                                                      const std::string& compiler,
                                                      const std::string& cpu) const {
  if (kernel.language() != kLanguage) {
    return absl::InvalidArgumentError(absl::StrCat("the kernel ", kernel.entry(), " is in ",
                                                   kernel.language(), ", not in ", kLanguage));
  }
  const Unit unit = UnitOf(kernel);
  const std::vector<std::string> compilers =
      compiler.empty() ? std::vector<std::string>{kernel.compiler(), kOtherCompiler}
                       : std::vector<std::string>{compiler};
  for (const std::string& program : compilers) {
    Object object = {absl::StrCat(directory_, "/", NameOf(unit, program, cpu), ".so"), program};
    struct stat state = {};
    if (stat(object.path.c_str(), &state) == 0 && state.st_size > 0) return object;
    MDH_ASSIGN_OR_RETURN(const TemporaryFile source, TemporaryFile::Make(directory_, ".c"));
    MDH_ASSIGN_OR_RETURN(TemporaryFile made, TemporaryFile::Make(directory_, ".so"));
    MDH_ASSIGN_OR_RETURN(const TemporaryFile log, TemporaryFile::Make(directory_, ".log"));
    MDH_RETURN_IF_ERROR(source.WriteText(unit.source));
    MDH_ASSIGN_OR_RETURN(const bool was_run,
                         Compile(kernel.entry(), program, unit.options, source, made, log));
    if (!was_run) continue;
    MDH_RETURN_IF_ERROR(made.MoveTo(object.path));
    return object;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("there is no compiler: ", compilers.front(), " cannot be run"));
}

}  // namespace mdh

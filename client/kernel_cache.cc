#include "client/kernel_cache.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/device/backends.h"
#include "core/expression/canonical.h"  // Sha256Hex
#include "core/kernel/kernel_call.h"

namespace mdh {
namespace {

constexpr char kOtherCompiler[] = "cc";  // where the kernel's own is missing
constexpr size_t kMaxLogBytes = 2'000;
// With less room than this, what failed failed for that.
constexpr uint64_t kLeastRoomBytes = 1 << 20;
// Behind the object, where loaders do not look: the SHA-256 of all before it.
constexpr char kSumPrefix[] = "\nmdh-sha256 ";
constexpr size_t kSumDigits = 64;

// That another folder may do: ResourceExhausted or Unavailable, which nothing else is.
Status DiskError(const std::string& what, int error) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? ResourceExhausted(message) : Unavailable(message);
}
bool IsOfDisk(const Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

Result<std::string> ReadBytes(const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad()) return DiskError("cannot read " + path, errno);
  return bytes;
}

std::string SumLine(const std::string& bytes) { return absl::StrCat(kSumPrefix, Sha256Hex(bytes)); }

// Whether it is there as it was written: mapping one that was cut off or zeroed, by a crash of the
// machine or a full disk, would end the process.
bool IsWhole(const std::string& path) {
  const Result<std::string> bytes = ReadBytes(path);
  const size_t sum_bytes = std::strlen(kSumPrefix) + kSumDigits;
  if (!bytes.ok() || bytes->size() <= sum_bytes) return false;
  const size_t size = bytes->size() - sum_bytes;
  return bytes->substr(size) == SumLine(bytes->substr(0, size));
}

// So that a name never stands for bytes that a crash of the machine could lose.
Status SyncToDisk(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const absl::Cleanup close_file = [file] { close(file); };
  if (file < 0 || fsync(file) != 0) return DiskError("cannot write " + path, errno);
  return absl::OkStatus();
}

bool HasRoom(const std::string& directory) {
  struct statvfs state = {};
  return statvfs(directory.c_str(), &state) != 0 ||
         uint64_t{state.f_bavail} * state.f_frsize >= kLeastRoomBytes;
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
    std::string bytes(count, '\0');
    std::ifstream stream(path_, std::ios::binary);
    stream.read(bytes.data(), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<size_t>(stream.gcount()));
    return bytes;
  }
  // With its sum, and not before all of it is on the disk.
  Status MoveTo(const std::string& path) {
    MDH_ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(path_));
    MDH_RETURN_IF_ERROR(WriteText(absl::StrCat(bytes, SumLine(bytes))));
    MDH_RETURN_IF_ERROR(SyncToDisk(path_));
    if (rename(path_.c_str(), path.c_str()) != 0) return DiskError("cannot write " + path, errno);
    path_.clear();
    return SyncToDisk(std::filesystem::path(path).parent_path().string());
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
  const std::string folder = std::filesystem::path(object.path()).parent_path().string();
  if (!HasRoom(folder)) return DiskError("cannot write to " + folder, ENOSPC);
  return FailedPrecondition(compiler, " does not compile the kernel ", entry, ":\n",
                            log.FirstBytes(kMaxLogBytes));
}

// A folder of this process alone, which is removed with what is in it.
Result<std::shared_ptr<const std::string>> MakeTemporaryFolder() {
  std::error_code error;
  const std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) return Unavailable("there is no folder for temporary files");
  std::string path = (base / "mdh-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    return DiskError(absl::StrCat("cannot write to ", base.string()), errno);
  }
  return std::shared_ptr<const std::string>(new std::string(path), [](const std::string* made) {
    std::error_code ignored;
    std::filesystem::remove_all(*made, ignored);
    delete made;
  });
}

// Compiles to `path`. False if the compiler cannot be run.
Result<bool> CompileTo(const std::string& path, const std::string& entry,
                       const std::string& compiler, const Unit& unit) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  MDH_ASSIGN_OR_RETURN(const TemporaryFile source, TemporaryFile::Make(folder, ".c"));
  MDH_ASSIGN_OR_RETURN(TemporaryFile made, TemporaryFile::Make(folder, ".so"));
  MDH_ASSIGN_OR_RETURN(const TemporaryFile log, TemporaryFile::Make(folder, ".log"));
  MDH_RETURN_IF_ERROR(source.WriteText(unit.source));
  MDH_ASSIGN_OR_RETURN(const bool was_run,
                       Compile(entry, compiler, unit.options, source, made, log));
  if (!was_run) return false;
  MDH_RETURN_IF_ERROR(made.MoveTo(path));
  return true;
}

// What the first of the compilers that can be run has made, or makes, in `folder`. Errors: IsOfDisk
// if another folder may do.
Result<KernelCache::Object> FindOrCompile(const std::string& folder, const std::string& entry,
                                          const Unit& unit, absl::Span<const std::string> compilers,
                                          const std::string& cpu) {
  for (const std::string& compiler : compilers) {
    KernelCache::Object object = {
        .path = absl::StrCat(folder, "/", NameOf(unit, compiler, cpu), ".so"),
        .compiler = compiler};
    if (IsWhole(object.path)) return object;
    MDH_ASSIGN_OR_RETURN(const bool was_run, CompileTo(object.path, entry, compiler, unit));
    if (was_run) return object;
  }
  return FailedPrecondition("there is no compiler: ", compilers.front(), " cannot be run");
}

}  // namespace

Result<KernelCache> KernelCache::Open(const std::string& directory, const TrustedUsers& trusted) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(directory).parent_path(), error);
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return FailedPrecondition("cannot make the folder ", directory, ": ", std::strerror(errno));
  }
  struct stat state = {};
  if (stat(directory.c_str(), &state) != 0 || !S_ISDIR(state.st_mode)) {
    return FailedPrecondition(directory, " is no folder");
  }
  const Status checked = CheckTrustedPath(directory, trusted);
  if (absl::IsPermissionDenied(checked)) {
    return PermissionDenied("code from the cache is not run: ", checked.message());
  }
  MDH_RETURN_IF_ERROR(checked);
  return KernelCache(directory, "");
}

Result<KernelCache::Object> KernelCache::SharedObject(const v1::Kernel& kernel,
                                                      const std::string& compiler,
                                                      const std::string& cpu) const {
  if (kernel.language() != Name(Language::kOpenMpC)) {
    return InvalidArgument("the kernel ", kernel.entry(), " is in ", kernel.language(), ", not in ",
                           Name(Language::kOpenMpC));
  }
  const Unit unit = UnitOf(kernel);
  const std::vector<std::string> compilers =
      compiler.empty() ? std::vector<std::string>{kernel.compiler(), kOtherCompiler}
                       : std::vector<std::string>{compiler};
  std::string why = why_none_;
  if (!directory_.empty()) {
    Result<Object> object = FindOrCompile(directory_, kernel.entry(), unit, compilers, cpu);
    if (object.ok() || !IsOfDisk(object.status())) return object;
    why = std::string(object.status().message());
  }
  Result<std::shared_ptr<const std::string>> folder = MakeTemporaryFolder();
  Result<Object> object =
      folder.ok() ? FindOrCompile(**folder, kernel.entry(), unit, compilers, cpu) : folder.status();
  if (object.ok()) {
    object->notice = absl::StrCat("the compiled kernel is not kept: ", why);
    object->folder = *std::move(folder);
    return object;
  }
  if (!IsOfDisk(object.status())) return object;
  const std::string message = absl::StrCat(why, "; ", object.status().message());
  return absl::IsResourceExhausted(object.status()) ? ResourceExhausted(message)
                                                    : FailedPrecondition(message);
}

}  // namespace mdh

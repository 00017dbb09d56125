#include "server/store/leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/store/file_lock.h"
#include "tuner/measure/confine/work_directory.h"
#include "tuner/process/file_descriptor.h"
#include "tuner/process/process_state.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "mdhd-";
constexpr const char* kDaemon = "mdhd";
constexpr const char* kUnfinished = ".sqlite.part";

// A folder itself, no link to one.
bool IsOwnFolder(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path().string());
  }
  return entries;
}

// Those of runners, in a work directory.
std::vector<std::string> FoldersOfRunners(const std::string& directory) {
  std::vector<std::string> folders;
  for (std::string& folder : EntriesOf(directory)) {
    std::error_code error;
    const bool is_of_runner = fs::exists(absl::StrCat(folder, "/", kFilesFolder), error) ||
                              fs::exists(absl::StrCat(folder, "/", kWorkerFile), error);
    if (is_of_runner && IsOwnFolder(folder)) folders.push_back(std::move(folder));
  }
  return folders;
}

// Holds the folders of runners, as WorkDirectory does; nullopt if another process does.
std::optional<std::vector<FileDescriptor>> LockAll(const std::vector<std::string>& folders) {
  std::vector<FileDescriptor> locks;
  for (const std::string& folder : folders) {
    FileDescriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const bool is_free = lock.valid() && flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
    if (!is_free) return std::nullopt;
    locks.push_back(std::move(lock));
  }
  return locks;
}

// Ends the runner that worked in `folder`, with all that it started, if it is still that process.
void EndWorker(const std::string& folder) {
  std::ifstream file(absl::StrCat(folder, "/", kWorkerFile));
  pid_t pid = 0;
  int64_t start = 0;
  if (!(file >> pid >> start)) return;
  const std::optional<ProcessState> worker = ReadProcessState(pid);
  if (!worker || worker->start != start) return;
  for (const ProcessState& state : ReadProcessStates()) {
    if (state.session == pid && state.pid != pid) kill(state.pid, SIGKILL);
  }
  kill(pid, SIGKILL);
}

}  // namespace

std::string DefaultWorkDirectory(const std::string& folder) {
  return (fs::path(folder) / absl::StrCat(kPrefix, getpid())).string();
}

bool ClearWorkDirectory(const std::string& directory) {
  if (!IsOwnFolder(directory)) return false;
  const std::vector<std::string> folders = FoldersOfRunners(directory);
  const std::optional<std::vector<FileDescriptor>> locks = LockAll(folders);
  if (!locks) return false;
  std::error_code ignored;
  for (const std::string& folder : folders) {
    EndWorker(folder);
    fs::remove_all(absl::StrCat(folder, "/", kFilesFolder), ignored);
    fs::remove(absl::StrCat(folder, "/", kWorkerFile), ignored);
    fs::remove(folder, ignored);
  }
  return true;
}

int RemoveDeadWorkDirectories(const std::string& folder) {
  int removed = 0;
  for (const std::string& path : EntriesOf(folder)) {
    const std::string name = fs::path(path).filename().string();
    absl::string_view digits = name;
    pid_t pid = 0;
    if (!absl::ConsumePrefix(&digits, kPrefix) || !absl::SimpleAtoi(digits, &pid)) continue;
    // One that has not made the folders of its runners yet has no locks.
    const std::optional<ProcessState> process = ReadProcessState(pid);
    const bool is_alive = process && !process->has_ended && process->name == kDaemon;
    if (is_alive || !ClearWorkDirectory(path)) continue;
    std::error_code error;
    if (fs::remove(path, error) && !error) ++removed;
  }
  return removed;
}

int RemoveUnfinishedCopies(const std::string& folder) {
  int removed = 0;
  for (const std::string& path : EntriesOf(folder)) {
    if (!absl::EndsWith(path, kUnfinished)) continue;
    // Who writes it holds it.
    if (!FileLock::Acquire(path).ok()) continue;
    std::error_code ignored;
    for (const char* beside : {"", "-journal", "-wal", "-shm"}) fs::remove(path + beside, ignored);
    ++removed;
  }
  return removed;
}

}  // namespace mdh

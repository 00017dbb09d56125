// Making, locking and removing the folder.
#include "tuner/measure/confine/work_directory.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tuner/process/process_state.h"

namespace mdh {
namespace {

Status Error(const std::string& what, const std::string& directory, const std::error_code& error) {
  const std::string message =
      absl::StrCat("cannot ", what, " the work directory ", directory, ": ", error.message());
  return error == std::errc::no_space_on_device ? ResourceExhausted(message)
                                                : FailedPrecondition(message);
}

std::error_code LastError() { return {errno, std::generic_category()}; }

}  // namespace

Result<WorkDirectory> WorkDirectory::Create(const std::string& directory,
                                            const TrustedUsers& trusted) {
  MDH_RETURN_IF_ERROR(CheckTrustedPath(directory, trusted));
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Error("make", directory, error);
  // Others could have made it meanwhile, in a shared folder.
  MDH_RETURN_IF_ERROR(CheckTrustedPath(directory, trusted));
  FileDescriptor lock(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid()) return Error("open", directory, LastError());
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition("the work directory ", directory, " is in use by another runner");
  }
  // Its processes have other current folders, and other roots.
  const std::filesystem::path absolute = std::filesystem::absolute(directory, error);
  if (error) return Error("find", directory, error);
  WorkDirectory made(absolute.lexically_normal().string(), std::move(lock));
  MDH_RETURN_IF_ERROR(made.Empty());
  return made;
}

Status WorkDirectory::Empty() {
  std::error_code error;
  std::filesystem::remove_all(files(), error);
  if (error) return Error("empty", directory_, error);
  std::filesystem::create_directory(files(), error);
  if (error) return Error("write to", directory_, error);
  return absl::OkStatus();
}

void WorkDirectory::NoteProcess(pid_t pid) const {
  const std::optional<ProcessState> state = ReadProcessState(pid);
  if (!state) return;
  std::ofstream(absl::StrCat(directory_, "/", kWorkerFile)) << pid << ' ' << state->start << '\n';
}

WorkDirectory::~WorkDirectory() {
  if (!lock_.valid()) return;
  std::error_code ignored;
  std::filesystem::remove(absl::StrCat(directory_, "/", kWorkerFile), ignored);
  std::filesystem::remove_all(files(), ignored);
  std::filesystem::remove(directory_, ignored);  // fails if something else is in it
}

}  // namespace mdh

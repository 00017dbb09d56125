// The runner's private folder of files.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/base/status.h"
#include "core/base/trusted_path.h"
#include "tuner/process/file_descriptor.h"

namespace mdh {

// The name of the folder in a work directory that files go to.
inline constexpr const char* kFilesFolder = "candidates";
// The name of the file in a work directory with the pid of the process that works there, and when
// it started (ProcessState::start).
inline constexpr const char* kWorkerFile = "worker";

// Owns the folder `directory`/candidates, and `directory` against other users of this class.
// Whatever else lies in `directory` is left alone. Move-only.
class WorkDirectory {
 public:
  // Makes `directory` if it is not there, and an empty folder in it.
  // Errors: FailedPrecondition, naming the directory, if it cannot be made or is in use;
  // PermissionDenied if others own it or could write to it (core/base/trusted_path.h): what is
  // compiled there is run; ResourceExhausted if the disk is full.
  static Result<WorkDirectory> Create(const std::string& directory,
                                      const TrustedUsers& trusted = {});
  WorkDirectory(WorkDirectory&&) = default;
  WorkDirectory& operator=(WorkDirectory&&) = delete;
  // Removes the folder, and the directory if nothing else is in it.
  ~WorkDirectory();

  // Where files go.
  std::string files() const { return directory_ + "/" + kFilesFolder; }
  // Makes the folder anew. Errors: as Create.
  Status Empty();
  // Writes down who works in it: if this process dies and that one hangs, the next one can tell.
  void NoteProcess(pid_t pid) const;

 private:
  WorkDirectory(std::string directory, FileDescriptor lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}
  std::string directory_;
  FileDescriptor lock_;  // invalid: moved from
};

}  // namespace mdh

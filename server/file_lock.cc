#include "server/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace mdh {

Result<std::unique_ptr<FileLock>> FileLock::Acquire(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    const bool is_full = errno == ENOSPC || errno == EDQUOT;
    const std::string why =
        absl::StrCat("lock file ", path, " cannot be made: ", std::strerror(errno));
    return is_full ? absl::ResourceExhaustedError(why) : absl::FailedPreconditionError(why);
  }
  std::unique_ptr<FileLock> lock(new FileLock(descriptor));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return absl::UnavailableError(absl::StrCat(path, " is locked by another process"));
  }
  return lock;
}

Result<std::unique_ptr<FileLock>> FileLock::Share(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return nullptr;
  if (descriptor < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("lock file ", path, " cannot be read: ", std::strerror(errno)));
  }
  std::unique_ptr<FileLock> lock(new FileLock(descriptor));
  if (flock(descriptor, LOCK_SH | LOCK_NB) != 0) {
    return absl::UnavailableError(absl::StrCat(path, " is locked by another process"));
  }
  return lock;
}

FileLock::~FileLock() { close(descriptor_); }

}  // namespace mdh

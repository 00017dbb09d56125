#include "server/store/file_lock.h"

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
    return is_full ? ResourceExhausted(why) : FailedPrecondition(why);
  }
  std::unique_ptr<FileLock> lock(new FileLock(descriptor));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return Unavailable(path, " is locked by another process");
  }
  return lock;
}

Result<std::unique_ptr<FileLock>> FileLock::Share(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return nullptr;
  if (descriptor < 0) {
    return FailedPrecondition("lock file ", path, " cannot be read: ", std::strerror(errno));
  }
  std::unique_ptr<FileLock> lock(new FileLock(descriptor));
  if (flock(descriptor, LOCK_SH | LOCK_NB) != 0) {
    return Unavailable(path, " is locked by another process");
  }
  return lock;
}

namespace {

// The largest file of any file system is smaller.
constexpr off_t kLockedByte = off_t{1} << 62;

Status LockByte(int descriptor, const std::string& path, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = kLockedByte;
  range.l_len = 1;
  // Of the open file, not of the process.
  if (fcntl(descriptor, F_OFD_SETLK, &range) == 0) return absl::OkStatus();
  if (errno == EAGAIN || errno == EACCES) return Unavailable(path, " is locked by another process");
  // A file system without locks has none of SQLite either.
  return absl::OkStatus();
}

}  // namespace

Result<std::unique_ptr<FileLock>> FileLock::OfFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    const int error = errno;
    const std::string why = absl::StrCat(path, " cannot be opened: ", std::strerror(error));
    return error == ENOSPC || error == EDQUOT ? ResourceExhausted(why) : FailedPrecondition(why);
  }
  std::unique_ptr<FileLock> lock(new FileLock(descriptor));
  MDH_RETURN_IF_ERROR(LockByte(descriptor, path, F_WRLCK));
  return lock;
}

Result<std::unique_ptr<FileLock>> FileLock::ShareFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FailedPrecondition(path, " cannot be opened: ", std::strerror(errno));
  std::unique_ptr<FileLock> lock(new FileLock(descriptor));
  MDH_RETURN_IF_ERROR(LockByte(descriptor, path, F_RDLCK));
  return lock;
}

std::string FileLock::Text() const {
  std::string text(256, '\0');
  const ssize_t size = pread(descriptor_, text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

void FileLock::SetText(const std::string& text) {
  [[maybe_unused]] const ssize_t written = pwrite(descriptor_, text.data(), text.size(), 0);
}

FileLock::~FileLock() { close(descriptor_); }

}  // namespace mdh

#include "client/commands/call/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "client/commands/call/command.h"

namespace mdh {
namespace {

constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;  // less umask

Status CannotWrite(const std::string& path) {
  const std::string message = absl::StrCat("cannot write ", path, ": ", std::strerror(errno));
  return WithExitCode(ExitCode::kCannotWrite, errno == ENOSPC || errno == EDQUOT
                                                  ? ResourceExhausted(message)
                                                  : FailedPrecondition(message));
}

// False, with errno, if not all of it could be written.
bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

Status WriteOutputFile(const std::string& path, const std::string& bytes) {
  struct stat state = {};
  const bool is_replaced = stat(path.c_str(), &state) != 0 || S_ISREG(state.st_mode);
  const std::string written = is_replaced ? path + ".part" : path;
  const int file =
      open(written.c_str(), O_WRONLY | O_CLOEXEC | (is_replaced ? O_CREAT | O_TRUNC : 0), kMode);
  if (file < 0) return CannotWrite(path);
  absl::Cleanup close_file = [file] { close(file); };
  const bool is_written = WriteAll(file, bytes) && (!is_replaced || fsync(file) == 0);
  if (is_written && (!is_replaced || std::rename(written.c_str(), path.c_str()) == 0)) {
    return absl::OkStatus();
  }
  Status error = CannotWrite(path);
  if (is_replaced) unlink(written.c_str());
  return error;
}

}  // namespace mdh

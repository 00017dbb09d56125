#include "tuner/measure/file_identity.h"

#include <sys/stat.h>

namespace mdh {

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{
      .device = status.st_dev,
      .inode = status.st_ino,
      .bytes = status.st_size,
      .changed_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace mdh

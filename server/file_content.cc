#include "server/file_content.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace mdh {

Result<std::string> ReadFileContent(const std::string& path, int64_t max_bytes) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string bytes(static_cast<size_t>(max_bytes) + 1, '\0');
  if (!stream.read(bytes.data(), max_bytes + 1) && !stream.eof()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", errno == 0 ? "cannot be read" : std::strerror(errno)));
  }
  if (stream.gcount() > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": larger than ", max_bytes, " bytes"));
  }
  bytes.resize(static_cast<size_t>(stream.gcount()));
  return bytes;
}

}  // namespace mdh

#include "tuner/program/file_contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tuner/process/file_descriptor.h"

namespace mdh {

Result<std::string> ReadFileContents(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return NotFound(std::strerror(errno));
  std::string contents;
  std::array<char, 65536> bytes;
  while (true) {
    const ssize_t count = read(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return NotFound(std::strerror(errno));
    if (count == 0) return contents;
    contents.append(bytes.data(), static_cast<size_t>(count));
  }
}

}  // namespace mdh

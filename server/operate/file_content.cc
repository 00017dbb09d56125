#include "server/operate/file_content.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace mdh {

Result<std::string> ReadFileContent(const std::string& path, int64_t max_bytes,
                                    const TrustedUsers& trusted) {
  MDH_RETURN_IF_ERROR(CheckTrustedPath(path, trusted));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string bytes;
  std::array<char, 16 << 10> piece = {};
  while (stream.read(piece.data(), piece.size()) || stream.gcount() > 0) {
    bytes.append(piece.data(), static_cast<size_t>(stream.gcount()));
    if (static_cast<int64_t>(bytes.size()) > max_bytes) {
      return InvalidArgument(path, ": larger than ", max_bytes, " bytes");
    }
  }
  if (!stream.eof()) {
    return InvalidArgument(path, ": ", errno == 0 ? "cannot be read" : std::strerror(errno));
  }
  return bytes;
}

}  // namespace mdh

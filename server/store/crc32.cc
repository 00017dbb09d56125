#include "server/store/crc32.h"

#include <zlib.h>

namespace mdh {

uint32_t Crc32Of(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace mdh

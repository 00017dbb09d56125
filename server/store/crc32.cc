#include "server/store/crc32.h"

#include <libdeflate.h>

namespace mdh {

uint32_t Crc32Of(std::string_view bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

}  // namespace mdh

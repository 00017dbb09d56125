// Checksums of what is stored.
#pragma once

#include <cstdint>
#include <string_view>

namespace mdh {

// The CRC-32 of zlib and gzip (RFC 1952).
uint32_t Crc32Of(std::string_view bytes);

}  // namespace mdh

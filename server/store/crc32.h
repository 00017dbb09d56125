// Checksums of what is stored.
#pragma once

#include <cstdint>
#include <string_view>

namespace mdh {

// The CRC-32 of zlib. All records are checked at each start: where the processor multiplies without
// carries it takes less than half of zlib's time.
uint32_t Crc32Of(std::string_view bytes);

}  // namespace mdh

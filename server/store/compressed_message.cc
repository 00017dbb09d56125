#include "server/store/compressed_message.h"

#include <lz4.h>

#include <cstddef>
#include <cstdint>

namespace mdh {
namespace {

// With which no message begins: there is no field 0.
constexpr char kMark = 0;
// Of what follows the size, which is that of the message in network order: one block of LZ4.
constexpr char kLz4 = 1;
constexpr size_t kSizeBytes = 4;
constexpr size_t kHeaderBytes = 2 + kSizeBytes;
// A byte of a block stands for so many at most.
constexpr size_t kMostPerByte = 255;

}  // namespace

std::string Compressed(std::string_view message) {
  std::string as_it_is(message);
  if (message.size() <= kHeaderBytes || message.size() > LZ4_MAX_INPUT_SIZE) return as_it_is;
  std::string compressed(message.size() - 1, '\0');
  const int block_bytes = LZ4_compress_default(message.data(), compressed.data() + kHeaderBytes,
                                               static_cast<int>(message.size()),
                                               static_cast<int>(compressed.size() - kHeaderBytes));
  if (block_bytes <= 0) return as_it_is;
  compressed.resize(kHeaderBytes + block_bytes);
  compressed[0] = kMark;
  compressed[1] = kLz4;
  for (size_t n = 0; n < kSizeBytes; ++n) {
    compressed[2 + n] = static_cast<char>(message.size() >> 8 * (kSizeBytes - 1 - n));
  }
  return compressed;
}

std::optional<std::string_view> Decompressed(std::string_view stored, std::string& room) {
  if (stored.empty() || stored[0] != kMark) return stored;
  if (stored.size() < kHeaderBytes || stored[1] != kLz4) return std::nullopt;
  size_t size = 0;
  for (const char c : stored.substr(2, kSizeBytes)) size = size << 8 | static_cast<uint8_t>(c);
  stored.remove_prefix(kHeaderBytes);
  // Before there is memory for it.
  if (size > LZ4_MAX_INPUT_SIZE || size > stored.size() * kMostPerByte) return std::nullopt;
  if (room.size() < size) room.resize(size);
  const int written = LZ4_decompress_safe(stored.data(), room.data(),
                                          static_cast<int>(stored.size()), static_cast<int>(size));
  if (written < 0 || static_cast<size_t>(written) != size) return std::nullopt;
  return std::string_view(room).substr(0, size);
}

}  // namespace mdh

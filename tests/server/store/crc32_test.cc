#include "server/store/crc32.h"

#include <zlib.h>

#include <random>
#include <string>

#include "gtest/gtest.h"

namespace mdh {
namespace {

TEST(Crc32Test, IsThatOfZlibForAllLengthsAndPlaces) {
  std::mt19937 random(1);
  std::string bytes;
  for (int n = 0; n < 400; ++n) bytes += static_cast<char>(random());
  for (size_t first = 0; first < 17; ++first) {
    for (size_t size = 0; first + size <= bytes.size(); ++size) {
      const std::string_view part = std::string_view(bytes).substr(first, size);
      const auto expected = crc32_z(0, reinterpret_cast<const Bytef*>(part.data()), part.size());
      ASSERT_EQ(Crc32Of(part), expected) << size << " bytes from " << first;
    }
  }
}

TEST(Crc32Test, IsTheOneThatWasStored) {
  // As other programs have it; what is stored is compared with it for ever.
  EXPECT_EQ(Crc32Of("123456789"), 0xcbf43926u);
  EXPECT_EQ(Crc32Of(std::string(100, 'a')), 0xaf707a64u);
}

}  // namespace
}  // namespace mdh

#include "server/store/crc32.h"

#include <string>

#include "gtest/gtest.h"

namespace mdh {
namespace {

TEST(Crc32Test, IsTheOneThatWasStored) {
  // As other programs have it; what is stored is compared with it for ever.
  EXPECT_EQ(Crc32Of("123456789"), 0xcbf43926u);
  EXPECT_EQ(Crc32Of(std::string(100, 'a')), 0xaf707a64u);
}

}  // namespace
}  // namespace mdh

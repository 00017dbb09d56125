#include "tuner/measure/trial/guarded_memory.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::guarded_memory_test {
namespace {

using ::testing::HasSubstr;
using Sharing = GuardedMemory::Sharing;
using Zones = GuardedMemory::Zones;

std::optional<int64_t> Damage(const GuardedMemory& memory) {
  return FirstDamage(memory.accessible(), memory.data_offset(), memory.size());
}

TEST(GuardedMemory, IsAlignedForAllSizes) {
  for (const int64_t bytes : {0, 1, 4, 63, 64, 65, 4095, 4096, 4097, 100000}) {
    for (const Zones zones : {Zones::kNone, Zones::kBothSides}) {
      const GuardedMemory memory = *GuardedMemory::Create(bytes, zones, Sharing::kPrivate);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
      EXPECT_EQ(memory.size(), bytes);
      std::memset(memory.data(), 1, static_cast<size_t>(bytes));
    }
  }
}

TEST(GuardedMemory, ZonesShowWritesOnBothSides) {
  for (const int64_t bytes : {0, 4, 64, 100, 5000}) {
    const GuardedMemory memory =
        *GuardedMemory::Create(bytes, Zones::kBothSides, Sharing::kPrivate);
    std::memset(memory.data(), 0xAB, static_cast<size_t>(bytes));
    EXPECT_EQ(Damage(memory), std::nullopt);
    memory.data()[bytes + 40] ^= std::byte{1};
    EXPECT_EQ(Damage(memory), bytes + 40);
    memory.data()[bytes + 40] ^= std::byte{1};
    memory.data()[-3] ^= std::byte{1};
    EXPECT_EQ(Damage(memory), -3);
  }
}

TEST(GuardedMemory, ReadOnlyMemoryKillsWritersAndItsEndReaders) {
  GuardedMemory memory = *GuardedMemory::Create(128, Zones::kNone, Sharing::kPrivate);
  ASSERT_TRUE(memory.MakeReadOnly().ok());
  volatile std::byte* data = memory.data();
  EXPECT_DEATH(std::memset(memory.data(), 1, 1), "");
  EXPECT_DEATH(static_cast<void>(data[128]), "");
  EXPECT_EQ(std::byte{data[127]}, std::byte{0});
}

TEST(GuardedMemory, TooMuchIsAnError) {
  const auto memory = GuardedMemory::Create(int64_t{1} << 60, Zones::kBothSides, Sharing::kPrivate);
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(memory.status().message(), HasSubstr("1152921504606846976 bytes"));
  EXPECT_FALSE(GuardedMemory::Create(-1, Zones::kNone, Sharing::kPrivate).ok());
}

}  // namespace
}  // namespace mdh::guarded_memory_test

#include "server/store/compressed_message.h"

#include "gtest/gtest.h"
#include "tests/server/store/stored_samples.h"

namespace mdh::compressed_message_test {
namespace {

// Text that repeats itself, as that of records does.
std::string LongMessage(int lines = 60) {
  v1::TuningRecord record = SampleRecord("a", 100);
  for (int n = 0; n < lines; ++n) {
    record.mutable_expression_text()->append("the same but for " + std::to_string(n) + "\n");
  }
  return record.SerializeAsString();
}

std::string Bytes(std::initializer_list<int> bytes) { return {bytes.begin(), bytes.end()}; }

bool IsRefused(const std::string& stored) {
  std::string room;
  return !Decompressed(stored, room).has_value();
}

TEST(CompressedMessageTest, ComesBackAsItWas) {
  std::string room;  // of all
  for (const int lines : {100, 10, 1'000}) {
    const std::string message = LongMessage(lines);
    const std::string compressed = Compressed(message);
    EXPECT_LT(compressed.size(), message.size() / 2);
    EXPECT_EQ(Decompressed(compressed, room), message);
  }
}

// What is stored is read for ever.
TEST(CompressedMessageTest, IsAMarkAFormatTheSizeAndABlock) {
  const std::string compressed = Compressed(std::string(300, 'a'));
  EXPECT_EQ(compressed.substr(0, 6), Bytes({0, 1, 0, 0, 1, 44}));
  // Five letters as they are, after 'a' and 18 + 20 more that repeat the byte before.
  const std::string written = Bytes({0, 1, 0, 0, 0, 44, 0x1f, 'a', 1, 0, 19, 0x50}) + "aaaaa";
  std::string room;
  EXPECT_EQ(Decompressed(written, room), std::string(44, 'a'));
}

TEST(CompressedMessageTest, WhatDoesNotBecomeShorterStaysAsItIs) {
  std::string room;
  for (const std::string& message : {std::string(), SampleRecord("a", 1).SerializeAsString(),
                                     std::string("\x0a\x03xyz"), std::string("\x0a")}) {
    EXPECT_EQ(Compressed(message), message);
    EXPECT_EQ(Decompressed(message, room), message);
  }
  EXPECT_TRUE(room.empty());
}

TEST(CompressedMessageTest, WhatIsCutIsRefused) {
  const std::string compressed = Compressed(LongMessage());
  for (size_t size = 1; size < compressed.size(); ++size) {
    EXPECT_TRUE(IsRefused(compressed.substr(0, size))) << size;
  }
  EXPECT_TRUE(IsRefused(compressed + "x"));
}

TEST(CompressedMessageTest, AFormatThatIsNotKnownIsRefused) {
  std::string compressed = Compressed(LongMessage());
  compressed[1] = 2;
  EXPECT_TRUE(IsRefused(compressed));
}

TEST(CompressedMessageTest, ASizeThatIsNotThatOfTheBlockIsRefused) {
  const std::string compressed = Compressed(LongMessage());
  for (const int change : {-1, 1}) {
    std::string changed = compressed;
    changed[5] = static_cast<char>(changed[5] + change);
    EXPECT_TRUE(IsRefused(changed));
  }
  // No block of so few bytes is so long, nor any: no memory is asked for.
  for (const char high : {'\x01', '\x7f', '\xff'}) {
    std::string huge = compressed;
    huge[2] = high;
    std::string room;
    EXPECT_FALSE(Decompressed(huge, room).has_value());
    EXPECT_TRUE(room.empty());
  }
}

// Bytes that change are noticed by a checksum before; those that are not do no harm.
TEST(CompressedMessageTest, DamageIsRefusedOrGivesOtherBytesOfTheSameSize) {
  const std::string message = LongMessage();
  const std::string compressed = Compressed(message);
  for (size_t place = 6; place < compressed.size(); ++place) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = compressed;
      damaged[place] = static_cast<char>(damaged[place] ^ (1 << bit));
      std::string room;
      const std::optional<std::string_view> found = Decompressed(damaged, room);
      EXPECT_EQ(found.value_or(message).size(), message.size());
    }
  }
}

}  // namespace
}  // namespace mdh::compressed_message_test

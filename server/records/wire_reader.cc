#include "server/records/wire_reader.h"

namespace mdh {
namespace {

// Wire type of text, bytes and messages.
constexpr uint64_t kLengthDelimited = 2;

int WriteVarint(uint64_t value, char* to) {
  int count = 0;
  while (value >= 0x80) {
    to[count++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  to[count++] = static_cast<char>(value);
  return count;
}

}  // namespace

bool WireReader::Fail() {
  has_failed_ = true;
  rest_ = {};
  return false;
}

bool WireReader::ReadVarint(uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const uint64_t byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireReader::Next() {
  if (rest_.empty()) return false;
  uint64_t tag = 0;
  if (!ReadVarint(tag) || tag >> 32 != 0 || tag >> 3 == 0) return Fail();
  number_ = static_cast<int>(tag >> 3);
  type_ = static_cast<Type>(tag & 7);
  bytes_ = {};
  switch (type_) {
    case Type::kVarint:
      return ReadVarint(varint_) || Fail();
    case Type::kBytes:
      if (!ReadVarint(varint_)) return Fail();
      break;
    case Type::kFixed32:
    case Type::kFixed64:
      varint_ = type_ == Type::kFixed32 ? 4 : 8;
      break;
    default:
      return Fail();
  }
  if (varint_ > rest_.size()) return Fail();
  bytes_ = rest_.substr(0, varint_);
  rest_.remove_prefix(varint_);
  return true;
}

int WriteFieldHeader(int number, uint64_t size, char* to) {
  const int count = WriteVarint(static_cast<uint64_t>(number) << 3 | kLengthDelimited, to);
  return count + WriteVarint(size, to + count);
}

}  // namespace mdh

// Reads the wire format of protocol buffers in place: fields as views of the bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace mdh {

// Not thread-safe. The bytes must outlive the reader and its views.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Goes to the next field; false at the end, and if the bytes are no message.
  bool Next();
  // Whether Next ended because the bytes are no message, or have a group, which nothing that is
  // read this way has.
  bool has_failed() const { return has_failed_; }

  // Of the current field.
  int number() const { return number_; }
  bool is_varint() const { return type_ == Type::kVarint; }
  // Whether it is text, bytes or a message; else it is a number of fixed size.
  bool is_bytes() const { return type_ == Type::kBytes; }
  uint64_t varint() const { return varint_; }
  // Empty for a varint.
  std::string_view bytes() const { return bytes_; }

 private:
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  bool ReadVarint(uint64_t& value);
  bool Fail();

  std::string_view rest_;
  int number_ = 0;
  Type type_ = Type::kVarint;
  bool has_failed_ = false;
  uint64_t varint_ = 0;
  std::string_view bytes_;
};

// Bytes before a field of text, bytes or a message with so many bytes, which are written to `to`;
// gives how many. At most kMaxFieldHeader.
inline constexpr int kMaxFieldHeader = 15;
int WriteFieldHeader(int number, uint64_t size, char* to);

}  // namespace mdh

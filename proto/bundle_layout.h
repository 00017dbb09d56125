// The format of bundles: records and kernels in one file, which processes map and look up in
// without reading the rest. All numbers are little endian and unsigned. In this order, without
// gaps:
//
//   header    128 bytes
//   slots     S times 16 bytes: a hash table with linear probing
//   rows      N times 64 bytes: where each entry is; the first one has number 0
//   info      a serialised mdh.v1.BundleHeader
//   zeros     up to the next multiple of 64
//   contents  of the entries, in the order of their rows, each followed by zeros up to the next
//             multiple of 8
//
//   header:  0  "MDHBNDL2"
//            8  u32 version of the format: 2; readers refuse every other
//           12  u32 0
//           16  u64 bytes of the file
//           24  u64 N, the number of entries
//           32  u64 S, the number of slots: a power of two, at least 8 and at least 2 N
//           40  u64 bytes of info
//           48  zeros
//           96  SHA-256 of bytes 0 to 95 and of all bytes from the first slot to the first content
//
//   slot:    0  u64 hash of the entry
//            8  u64 the entry's number plus 1; 0: the slot is empty
//
//   row:     0  u64 offset of the content in the file
//            8  u32 bytes of the identity; 12 u32 of the compiler; 16 u32 of the record;
//           20  u32 bytes of the kernel; 0: there is none
//           24  u32 generator version
//           28  u32 0
//           32  SHA-256 of the content, without the zeros after it
//
//   content:    identity, compiler (text of the key), record (a serialised mdh.v1.TuningRecord),
//               kernel (a serialised mdh.v1.Kernel), without gaps
//
//   identity:   the parts of an mdh.v1.KernelKey that always must agree:
//            0  u32 numerics policy
//            4  u32 bytes of the canonical form, and the canonical form
//               u32 bytes of the device's fingerprint, and the fingerprint
//
// The hash of an entry is the first 8 bytes of the SHA-256 of its identity, as a number. Its slot
// is the first free one from hash modulo S on. Entries with the same identity come in rows and
// slots in the order in which they are preferred: newer generators first.
//
// The header's sum covers the sums of all contents: a changed byte is found wherever it is, and a
// reader that wants to begin at once can check contents when it first uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mdh {

struct BundleLayout {
  static constexpr std::string_view kMagic = "MDHBNDL2";
  static constexpr uint32_t kVersion = 2;
  static constexpr uint64_t kContentsAlignment = 64;
  static constexpr uint64_t kContentAlignment = 8;
  static constexpr uint64_t kFewestSlots = 8;

  struct Header {
    static constexpr size_t kVersionAt = 8;
    static constexpr size_t kFileBytesAt = 16;
    static constexpr size_t kEntriesAt = 24;
    static constexpr size_t kSlotsAt = 32;
    static constexpr size_t kInfoBytesAt = 40;
    static constexpr size_t kSumAt = 96;
    static constexpr size_t kBytes = 128;
  };
  struct Slot {
    static constexpr size_t kHashAt = 0;
    static constexpr size_t kNumberAt = 8;
    static constexpr size_t kBytes = 16;
  };
  struct Row {
    static constexpr size_t kOffsetAt = 0;
    static constexpr size_t kIdentityBytesAt = 8;
    static constexpr size_t kCompilerBytesAt = 12;
    static constexpr size_t kRecordBytesAt = 16;
    static constexpr size_t kKernelBytesAt = 20;
    static constexpr size_t kGeneratorAt = 24;
    static constexpr size_t kSumAt = 32;
    static constexpr size_t kBytes = 64;
  };

  static constexpr uint64_t RoundUp(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
  }
  static constexpr uint64_t RowsAt(uint64_t slots) { return Header::kBytes + slots * Slot::kBytes; }
  static constexpr uint64_t InfoAt(uint64_t slots, uint64_t entries) {
    return RowsAt(slots) + entries * Row::kBytes;
  }
};

// Byte by byte, which compilers turn into one access where it is one.
template <typename Number>
Number LoadLittleEndian(const char* from) {
  Number value = 0;
  for (size_t n = 0; n < sizeof(Number); ++n) {
    value |= static_cast<Number>(static_cast<unsigned char>(from[n])) << (8 * n);
  }
  return value;
}

template <typename Number>
void StoreLittleEndian(Number value, char* to) {
  for (size_t n = 0; n < sizeof(Number); ++n) to[n] = static_cast<char>(value >> (8 * n) & 0xff);
}

}  // namespace mdh

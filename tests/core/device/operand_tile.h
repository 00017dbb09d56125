// How operands of matrix units lie in shared memory of NVIDIA's GPUs, as PTX's manual has it:
// swizzles, and tiles that wgmma reads by descriptor. All by digits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/status.h"

namespace mdh {

// Rows of so many bytes, of which the 16-byte chunks are permuted so that neither eight rows nor a
// row meet in banks: the layout of TMA and wgmma. Arrays start at multiples of 8 rows.
enum class Swizzle : uint8_t { kNone = 0, k32 = 32, k64 = 64, k128 = 128 };
inline int64_t Bytes(Swizzle swizzle) { return static_cast<int64_t>(swizzle); }

// Chunk c of row x goes to c ^ (x % 8), c ^ (x / 2 % 4), c ^ (x / 4 % 2) for 128, 64, 32 bytes:
// offset ^ ((offset >> 7) & mask) << 4. Its own inverse.
inline int64_t SwizzleMask(Swizzle swizzle) { return Bytes(swizzle) / 16 - (Bytes(swizzle) > 0); }
inline int64_t Swizzled(int64_t offset, Swizzle swizzle) {
  return offset ^ (((offset >> 7) & SwizzleMask(swizzle)) << 4);
}

// One operand's part of a stage in shared memory: `points` along m or n times `depth` along k, in
// rows of the swizzle's bytes, contiguous along k ("K-major"), or along m or n. Its start is
// aligned to kTileAlignment.
class OperandTile {
 public:
  static constexpr int64_t kTileAlignment = 1024;

  // Errors: InvalidArgument, naming what is no multiple of what: rows are whole (`depth`, or
  // `points`, a multiple of the swizzle's bytes), and so are groups of 8 rows.
  static Result<OperandTile> Create(int64_t points, int64_t depth, int element_bytes,
                                    bool is_k_major, Swizzle swizzle);

  int64_t points() const { return points_; }
  int64_t depth() const { return depth_; }
  int element_bytes() const { return element_bytes_; }
  bool is_k_major() const { return is_k_major_; }
  Swizzle swizzle() const { return swizzle_; }
  int64_t size_bytes() const { return points_ * depth_ * element_bytes_; }

  // The byte of element (point, k), from the tile's start.
  int64_t Offset(int64_t point, int64_t k) const { return Swizzled(Plain(point, k), swizzle_); }
  // The same before swizzling: linear in the digits of point and k,
  //   K-major: k % R, point, k / R;  else: point % R, k, point / R;  R elements a row.
  int64_t Plain(int64_t point, int64_t k) const;

  // Fields of descriptors, in bytes.
  int64_t leading_bytes() const;  // else: from one row's width of points to the next
  int64_t stride_bytes() const;   // from 8 rows to the next 8
  // What the start of a descriptor moves by for the part of an instruction that begins at (point,
  // k). Expects multiples of what fits (FitsPart).
  int64_t PartOffset(int64_t point, int64_t k) const { return Plain(point, k); }
  // Whether one descriptor reaches the part of `points` times `depth` that begins there.
  bool FitsPart(int64_t point, int64_t k, int64_t points, int64_t depth) const;

 private:
  OperandTile() = default;
  int64_t points_ = 0, depth_ = 0;
  int element_bytes_ = 0;
  bool is_k_major_ = true;
  Swizzle swizzle_ = Swizzle::k128;
};

// What wgmma takes: start >> 4 at bits 0 to 13, leading >> 4 at 16, stride >> 4 at 32, the
// swizzle's code (128: 1, 64: 2, 32: 3) at 62. Of the start's bits those above 18 are dropped:
// within clusters they number the block.
struct MatrixDescriptor {
  int64_t start = 0;
  int64_t leading_bytes = 0, stride_bytes = 0;
  Swizzle swizzle = Swizzle::k128;

  uint64_t bits() const;
  static MatrixDescriptor FromBits(uint64_t bits);
  // The byte of shared memory where element (point, k) of the part is read.
  int64_t Address(int64_t point, int64_t k, int element_bytes, bool is_k_major) const;
};

inline constexpr int kRowsOfMatrix = 8;
inline constexpr int64_t kStartMask = 0x3ffff;  // of addresses in shared memory
inline constexpr uint64_t kFieldMask = 0x3fff;  // of a descriptor, in units of 16 bytes

struct SwizzleCode {
  Swizzle swizzle;
  uint64_t code;
};
inline constexpr SwizzleCode kSwizzleCodes[] = {
    {Swizzle::kNone, 0}, {Swizzle::k128, 1}, {Swizzle::k64, 2}, {Swizzle::k32, 3}};

inline Result<OperandTile> OperandTile::Create(int64_t points, int64_t depth, int element_bytes,
                                               bool is_k_major, Swizzle swizzle) {
  const int64_t width = Bytes(swizzle);
  if (width == 0) return InvalidArgument("tiles of operands are swizzled");
  if (points <= 0 || depth <= 0 || element_bytes <= 0 || 16 % element_bytes != 0) {
    return InvalidArgument("a tile of ", points, " x ", depth, " elements of ", element_bytes,
                           " bytes");
  }
  const auto check = [&](const char* what, int64_t value, int64_t multiple) {
    if (value % multiple == 0) return absl::OkStatus();
    return InvalidArgument(what, " of a tile of an operand: ", value, " is no multiple of ",
                           multiple);
  };
  const int64_t row = std::max<int64_t>(width / element_bytes, 1);
  MDH_RETURN_IF_ERROR(check(is_k_major ? "k" : "points", is_k_major ? depth : points, row));
  MDH_RETURN_IF_ERROR(
      check(is_k_major ? "points" : "k", is_k_major ? points : depth, kRowsOfMatrix));
  OperandTile tile;
  tile.points_ = points;
  tile.depth_ = depth;
  tile.element_bytes_ = element_bytes;
  tile.is_k_major_ = is_k_major;
  tile.swizzle_ = swizzle;
  return tile;
}

inline int64_t OperandTile::Plain(int64_t point, int64_t k) const {
  const int64_t row = Bytes(swizzle_) / element_bytes_;
  const int64_t along = is_k_major_ ? k : point, across = is_k_major_ ? point : k;
  const int64_t rows = is_k_major_ ? points_ : depth_;
  return ((along / row * rows + across) * row + along % row) * element_bytes_;
}

inline int64_t OperandTile::leading_bytes() const {
  return is_k_major_ ? 16 : depth_ * Bytes(swizzle_);
}

inline int64_t OperandTile::stride_bytes() const { return kRowsOfMatrix * Bytes(swizzle_); }

inline bool OperandTile::FitsPart(int64_t point, int64_t k, int64_t points, int64_t depth) const {
  if (point < 0 || k < 0 || point + points > points_ || k + depth > depth_) return false;
  const int64_t row = Bytes(swizzle_) / element_bytes_;
  if (!is_k_major_) return point % row == 0 && k % kRowsOfMatrix == 0;
  // Along k a descriptor does not reach beyond a row, in which it may start at 16 bytes.
  return point % kRowsOfMatrix == 0 && k * element_bytes_ % 16 == 0 && k % row + depth <= row;
}

inline uint64_t MatrixDescriptor::bits() const {
  const auto field = [](int64_t bytes) { return static_cast<uint64_t>(bytes >> 4) & kFieldMask; };
  uint64_t code = 0;
  for (const SwizzleCode& known : kSwizzleCodes) {
    if (known.swizzle == swizzle) code = known.code;
  }
  return field(start & kStartMask) | field(leading_bytes) << 16 | field(stride_bytes) << 32 |
         code << 62;
}

inline MatrixDescriptor MatrixDescriptor::FromBits(uint64_t bits) {
  const auto field = [&](int at) { return static_cast<int64_t>(bits >> at & kFieldMask) << 4; };
  MatrixDescriptor descriptor{field(0), field(16), field(32), Swizzle::kNone};
  for (const SwizzleCode& known : kSwizzleCodes) {
    if (known.code == bits >> 62) descriptor.swizzle = known.swizzle;
  }
  return descriptor;
}

inline int64_t MatrixDescriptor::Address(int64_t point, int64_t k, int element_bytes,
                                         bool is_k_major) const {
  const int64_t width = Bytes(swizzle);
  int64_t address = start;
  if (is_k_major) {
    address +=
        point % kRowsOfMatrix * width + point / kRowsOfMatrix * stride_bytes + k * element_bytes;
  } else {
    const int64_t along = point * element_bytes;
    address += along % width + along / width * leading_bytes + k % kRowsOfMatrix * width +
               k / kRowsOfMatrix * stride_bytes;
  }
  return Swizzled(address, swizzle);
}

// That of a part of a tile that starts at `tile_start`. Expects FitsPart.
inline MatrixDescriptor DescriptorOf(const OperandTile& tile, int64_t tile_start, int64_t point,
                                     int64_t k) {
  return {tile_start + tile.PartOffset(point, k), tile.leading_bytes(), tile.stride_bytes(),
          tile.swizzle()};
}

}  // namespace mdh

// How operands of matrix units lie in shared memory of NVIDIA's GPUs: swizzles, what ldmatrix and
// stmatrix move, and tiles that wgmma reads by descriptor. All by digits.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/status.h"
#include "core/device/matrix_layout.h"

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

// ---- ldmatrix and stmatrix ----

// A fragment moved to or from shared memory by 16-byte rows, `matrices` (1, 2, 4) of 8 rows at a
// time, each one register of the fragment.
struct MatrixMove {
  int matrices;
  int moves;  // instructions for the whole fragment: register number q * matrices + i of move q
  bool transposed;  // .trans
  // The first element of the row that a lane points to, in move number `reg`. (Of one and two
  // matrices only lanes below 8 and 16 of each warp count; others point to the same rows again.)
  FragmentLayout rows;
};

// The move for a fragment of elements of so many bytes, whose memory is contiguous along `axis`:
// an operand, or results packed to 32-bit registers (FragmentLayout::Packed). nullopt: there is
// none, and lanes access elements one by one.
std::optional<MatrixMove> MoveOf(const FragmentLayout& fragment, int element_bytes,
                                 MatrixAxis axis);

// ---- Descriptors ----

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

// That of a part of a tile that starts at `tile_start`. Expects FitsPart.
MatrixDescriptor DescriptorOf(const OperandTile& tile, int64_t tile_start, int64_t point,
                              int64_t k);

}  // namespace mdh

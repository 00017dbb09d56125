// Statements of loop programs for matrix units: of groups of 128 threads that feed them from shared
// memory, and that compute beside what the threads do next (CUDA's wgmma, compute capability 9.0);
// and of warps that have operands in registers (mma.sync).
//
// An operand of a group has rows of 128 bytes in shared memory: 64 elements of 16 bits, as pieces
// of 16 bytes, of which piece p of row r is where p ^ (r % 8) would be (swizzling: neighbouring
// rows are in other banks). Rows lie along K, one per row of a or column of b; or across it, one
// per k, of 64 rows of a or columns of b, and further ones of these in blocks of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/program/index.h"
#include "core/device/matrix_instruction.h"
#include "core/scalar/scalar_type.h"

namespace mdh {

struct ValueNode;
using LoopValue = std::shared_ptr<const ValueNode>;

inline constexpr int kGroupThreads = 128;
inline constexpr int kGroupRows = 64;        // of a, and of the sums
inline constexpr int kMultipliedBytes = 32;  // along K, of one multiplication
inline constexpr int kOperandRowBytes = 128;
inline constexpr int kOperandAlignment = 1024;

// `name` describes an operand to the unit: it begins at `offset` of a shared array, at a multiple
// of kOperandAlignment. Eight rows follow each other, and `stride_bytes` behind them the next
// eight; across K, `leading_bytes` behind it is the block of the next 64 rows of a or columns of b.
struct DeclareOperand {
  std::string name;
  std::string array;
  Index offset;
  int64_t leading_bytes;
  int64_t stride_bytes;
};
// What a multiplication takes of an operand: from so many bytes on.
struct UnitOperand {
  std::string name;
  ScalarType type;  // of fp32 tf32 is multiplied
  int64_t offset_bytes;
  bool is_across;  // its rows are across K
};
// sums = a * b, or sums += a * b where `keeps` is not 0: 64 rows of a by `columns` of b, over 32
// bytes along K, in fp32 or, of integers, int32. Begins only: until the group has waited, its
// threads touch neither the sums nor shared memory that the operands are in, except to begin others
// to the same sums. Of the sums, thread t of the group has, in element `first` + r of its private
// array, row
//   t / 32 * 16 + t % 32 / 4 + 8 * (r / 2 % 2) and column 8 * (r / 4) + 2 * (t % 4) + r % 2.
struct GroupMultiply {
  int columns;  // a multiple of 8, at most 256 (GroupInstruction)
  std::string sums;
  int64_t first;
  UnitOperand a, b;
  Index keeps;
};
// In front of multiplications: what threads have in the sums is there for the unit.
struct GroupFence {};
// The multiplications that the group began since the last time are a bundle.
struct CommitMultiplies {};
// Waits until all bundles of the group but the last `bundles` are done.
struct WaitForMultiplies {
  int bundles;
};
// What the thread wrote to shared memory, or copied there and waited for, is there for the unit,
// once others have met this one at a barrier.
struct UnitFence {};

// From here on threads of the group have so many registers each: more than before, for which they
// wait until those of others have fewer, or fewer. The threads of a block have no more than there
// are, and the block is alone on its multiprocessor.
struct TakeRegisters {
  int64_t count;
  bool are_more;
};

// An array of up to five dimensions as the tensor copy engine sees it: `name` describes it to the
// engine, and is an argument of the kernel function beside its pointers (TensorMap in
// codegen/program/kernel.h). Its first element is at `offset` of a buffer or of scratch memory, a
// multiple of 16 bytes. A copy brings `box` elements along each dimension. Declared where the stage
// begins.
struct DeclareTensorMap {
  std::string name;
  std::string base;
  int64_t offset;
  ScalarType type;
  std::vector<int64_t> extents;  // the contiguous dimension first
  std::vector<int64_t> strides;  // in elements, 1 first: the others are multiples of 16 bytes
  std::vector<int64_t> box;      // 128 bytes along the first one
};
// `count` barriers in a shared array of int64, for copies: phases of each end when it has been
// arrived at so many times, and all bytes that it shall wait for have come. By one thread, before
// others use them behind a barrier of the block.
struct StartBarriers {
  std::string array;
  int64_t count;
  int64_t arrivals;
};
// Arrives at a barrier, whose phase shall also wait for so many bytes; or, without any, all threads
// of a group together, as one: multiplications that they have waited for are done. The group may
// arrive at the barriers of all blocks of its cluster, which are so many.
struct ArriveAtBarrier {
  std::string array;
  Index number;
  int64_t bytes;
  int blocks = 1;
  bool is_of_group() const { return bytes == 0; }
};
// Waits until the phase of the barrier with that parity has ended, the first one's being 0: what
// was copied in it is there for the thread and for the unit.
struct AwaitBarrier {
  std::string array;
  Index number;
  Index parity;
};
// A copy by the engine that runs beside what the thread does next, until the phase of the barrier
// ends: the box whose first point has these coordinates to shared memory from element `to` on, as
// an operand's rows (above), a row for each point along the dimensions but the first one. Points
// outside of the array become 0. Its bytes are those of the box. It may come to so many blocks of
// the cluster, from number `first_block` on, `step` apart, instead of the calling one: to each
// one's array of that name, where a phase of its own barrier waits for it.
struct TensorCopy {
  std::string map;
  std::vector<Index> coordinates;
  std::string array;
  Index to;
  std::string barriers;
  Index barrier;
  int blocks = 1;
  int step = 1;
  Index first_block = Index(0);
};

// Four matrices of 8 x 8 elements to a shared array, by all threads of a warp. Values 2 i and 2 i +
// 1 of a thread are of matrix i: row lane / 4, columns 2 * (lane % 4) and the next one. Row r of
// matrix i goes to `offset` of the thread with lane 8 i + r, at a multiple of 16 bytes.
struct StoreMatrices {
  std::string array;
  Index offset;
  ScalarType type;                // fp16 or bf16
  std::vector<LoopValue> values;  // eight of fp32
};

// A fragment: the thread's part of a matrix, in elements `first` and further ones of a private
// array, as many as the layout has registers, in their order. Those of less than 4 bytes are packed
// as uint32.
struct HeldFragment {
  std::string array;
  Index first;
};
// Matrices of 8 rows of 16 bytes of a shared array to as many registers of a thread (1, 2 or 4), by
// all threads of a warp: those of a type of less than 4 bytes are packed, the first one lowest. Row
// r of matrix i begins at `offset` of the thread with lane 8 i + r, at a multiple of 16 bytes.
// Register i of a thread has of row lane / 4 the 4 bytes number lane % 4; transposed, of elements
// of 2 bytes, those number lane / 4 of rows 2 * (lane % 4) and the next one.
struct LoadMatrices {
  HeldFragment to;
  ScalarType type;  // of the array's elements
  int matrices;
  bool is_transposed;
  std::string array;
  Index offset;
};
// So many elements of a private array of fp32 are rounded to 10 bits of fraction, to nearest, ties
// away from zero: what units for tf32 multiply without cutting anything off.
struct RoundToTf32 {
  HeldFragment values;
  int64_t count;
};
// The sums of `tiles` multiplications of fp64, `of_tile` elements each, are waited for, so that
// what is behind the end of a loop's body finds them: assemblers of CUDA 13.0 and perhaps others
// wait for multiplications of fp64 within the body only. No effect on values.
struct AwaitSums {
  HeldFragment sums;
  int64_t tiles;
  int64_t of_tile;
};
// sums += a * b, by the instruction, which all threads of a warp execute together.
struct WarpMultiply {
  const MatrixInstruction* instruction;
  HeldFragment sums, a, b;
};

}  // namespace mdh

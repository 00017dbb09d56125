// Transposing a square tile in vector registers: in log2(T) steps, in each of which pairs of rows
// exchange halves of groups of lanes (a butterfly), T^2 elements move by T loads, T log2(T)
// shuffles and T stores.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

// Row r of T = type.lanes neighbours is at from_offset + r * from_stride of `from`; what becomes
// row r goes to to_offset + r * to_stride of `to`.
struct TransposedTile {
  LoopValueType type;  // of a row; at least 2 lanes, a power of two
  std::string from;
  Index from_offset;
  int64_t from_stride;
  std::string to;
  Index to_offset;
  int64_t to_stride;
};

// Appends the statements that copy the tile to `block`; its values get names from `names`.
void TransposeTile(const TransposedTile& tile, NameAllocator& names, Block& block);

}  // namespace mdh

// Values of loop programs for dot instructions of CPUs (core/decomposition/dot_plan.h), and
// statements for tile registers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/index.h"
#include "codegen/program/unit_statements.h"

namespace mdh {

// Neighbours of 32 bits together, as uint32, of which the first are the lowest: one word from every
// element at offset, offset + stride, ... on, aligned or not.
struct LoadWords {
  std::string pointer;
  Index offset;
  int64_t stride;  // elements
};
// `sum`, of float or int32, with products of what is in words `a` and `b` added to each lane: those
// of bf16, or of four bytes, unsigned ones of a and signed ones of b. Of bf16 they are exact; how
// their sum is rounded is the target's choice.
struct AddDots {
  LoopValue sum;
  LoopValue a;
  LoopValue b;
};

// Tile registers of a thread have numbers from 0 on; what they hold are rows of words of 32 bits.
struct TileRows {
  int rows, words;
};
// The registers have these shapes from here on, until others are asked for or they are released.
// What is in them is lost, if shapes change.
struct ConfigureTiles {
  std::vector<TileRows> shapes;
};
// The thread uses them no longer.
struct ReleaseTiles {};
struct ZeroTile {
  int tile;
};
// Rows of a tile from or to memory, the first at `offset`, others so many bytes behind each other.
struct LoadTile {
  int tile;
  std::string pointer;
  Index offset;
  int64_t row_bytes;
};
struct StoreTile {
  int tile;
  std::string pointer;
  Index offset;
  int64_t row_bytes;
};
// sums[m, n] += what AddDots adds of a[m, k] and b[k, n], for every word k of a's rows, with signs
// of bytes as the instruction has them. Subnormal numbers of bf16, and sums that are, count as 0.
struct MultiplyTiles {
  const MatrixInstruction* instruction;  // of MatrixUnit::kTile
  int sums, a, b;
};

}  // namespace mdh

// Dot instructions of CPUs in register tiles (TuningParameters::dot): which contractions they
// compute, and how. Neighbours along a reduced dimension, as many as fit into 32 bits, are a word;
// an instruction multiplies words lane by lane, adds the products of each and then what was there:
//   C[m, n] += SUM over i < group of A[m, k + i] * B[k + i, n]
// Of one operand a word is broadcast to all lanes, that of the other has lanes along m or n.
//
// Tile registers (DotUnit::kTiles, AMX) do the same for up to 16 rows of words at once: a tile of
// sums has 16 rows, of 16 lanes each; that of the operand that is broadcast has, for every row, 16
// words along k; that of the other one has 16 rows along k, of 16 lanes.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/matrix_instruction.h"
#include "core/expression/expression.h"

namespace mdh {

inline constexpr int kWordBytes = 4;

struct DotOperand {
  int parameter;  // of f
  int buffer;
  ScalarType type;
};

// Plain data.
struct DotPlan {
  int dimension;  // along which words have neighbours
  int group;      // elements of a word
  DotOperand a, b;
  DotUnit unit = DotUnit::kVectors;

  bool on_tiles() const { return unit == DotUnit::kTiles; }
  bool is_bytes() const { return group == kWordBytes; }
};

// Which operand is which in a tile with lanes along a dimension.
struct DotSides {
  DotOperand broadcast, vector;
  // Instructions multiply unsigned by signed bytes. Of operands that are alike, the signs of the
  // broadcast one are flipped: what it is more or less by, 128 times the other's sum, is counted
  // beside the results.
  bool flips_broadcast;
  bool vector_is_signed;  // of bytes
};

// The tile registers of a device, and what each of them has room for.
inline constexpr int kTileRegisters = 8, kTileRows = 16, kTileWords = 16;

// What a register tile is on tile registers. Plain data.
struct DotTiles {
  // The dimension whose points are rows of tiles, others that only the operand with rows has, and
  // others that only the one with lanes has. -1: it has no dimension of its own with several
  // points, and there is one row.
  int rows;
  std::vector<int> beside_rows, beside_lanes;
  int words;  // along k, of a tile: fewer than kTileWords if there are no more

  // Of a register tile with points[d] points along d, lanes along v: tiles of both operands.
  int64_t RowTiles(const std::vector<int64_t>& points) const;
  int64_t LaneTiles(const std::vector<int64_t>& points, int v) const;
};
// Whether tile registers have room for the sums of so many tiles of each operand, for all of the
// operand that has fewer, and for two of the other, as its last one may have another shape.
inline bool HaveRoom(int64_t row_tiles, int64_t lane_tiles) {
  const int64_t fewer = std::min(row_tiles, lane_tiles), more = std::max(row_tiles, lane_tiles);
  return fewer * more + fewer + std::min<int64_t>(2, more) <= kTileRegisters;
}

// Words of neighbours along reduced dimension d. Errors: InvalidArgument, saying why the expression
// cannot be computed so: it is no contraction, operands are computed or of other types, ...
Result<DotPlan> PlanDot(const Expression& expression, int d);
// The same for the parameters; nullopt if they have no dot instructions. Expects valid ones.
std::optional<DotPlan> DotOf(const Expression& expression, const TuningParameters& parameters);

// The device's instruction with the most lanes for words of that plan; nullptr: it has none.
const MatrixInstruction* DotInstructionFor(const DotPlan& plan, const DeviceDescription& device);

// That of tile registers for rows of one type and lanes of the other; nullptr: there is none.
const MatrixInstruction* TileInstruction(ScalarType rows, ScalarType lanes);

// Whether tiles load rows of that operand where they are: neighbours along dimension d, without a
// boundary.
bool HasRowsInPlace(const Expression& expression, const DotOperand& operand, int d);

// How tile registers have a register tile of so many points with lanes along dimension v. Errors:
// InvalidArgument, saying why they cannot.
Result<DotTiles> PlanTiles(const Expression& expression, const DotPlan& plan, int v,
                           const std::vector<int64_t>& tile);

// With lanes along dimension v; nullopt if not exactly one operand depends on it.
std::optional<DotSides> SidesOf(const Expression& expression, const DotPlan& plan, int v);

// Whether tiles with lanes along dimension v flip signs (DotSides::flips_broadcast).
bool FlipsSigns(const Expression& expression, const TuningParameters& parameters, int v);

// The dimension of the operand's buffer whose index is that of the plan's dimension; -1 if there is
// none, so that copies of it cannot have words.
int WordDimension(const Expression& expression, const DotPlan& plan, const DotOperand& operand);

}  // namespace mdh

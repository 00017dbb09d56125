// What half of the results takes where the others are equal to them.
#include <algorithm>

#include "codegen/choose/tiles/tile_cost.h"

namespace mdh {

double TileCost::Cycles(const TileChoice& choice) const {
  const double cycles = CyclesOfAll(choice);
  if (!choice.mirrors) return cycles;
  return cycles * ShareOnDiagonal(choice) + StoringAgain(*choice.mirrors);
}

// Of all register tiles those with a point on or below the diagonal.
double TileCost::ShareOnDiagonal(const TileChoice& choice) const {
  constexpr int64_t kManyTiles = 256;
  const auto [row, column] = *choice.mirrors;
  const int64_t size = e_.dimensions()[row].size;
  const int64_t rows = choice.tile[row], columns = choice.tile[column];
  if (size > kManyTiles * columns)
    return std::min(1.0, 0.5 + static_cast<double>(rows + columns) / 2 / static_cast<double>(size));
  const double of_tile = Pieces(choice, row, rows);
  const double of_rows =
      static_cast<double>(size / rows) * of_tile + Pieces(choice, row, size % rows);
  double computed = 0, all = 0;
  for (int64_t from = 0; from < size; from += columns) {
    const double width = Pieces(choice, column, std::min(columns, size - from));
    computed += width * (of_rows - static_cast<double>(from / rows) * of_tile);
    all += width * of_rows;
  }
  return computed / all;
}

// By what there is to move: squares are transposed as fast as a last cache has them, which all
// cores share.
double TileCost::StoringAgain(const ExchangeablePair& pair) const {
  constexpr double kNearByte = 0.2, kFarByte = 0.3;  // of a result, measured
  constexpr double kScattered = 2;                   // times as long, element by element
  double results = 0.5, bytes = 0;
  for (int d = 0; d < e_.rank(); ++d) {
    if (!e_.is_reduction(d)) results *= static_cast<double>(e_.dimensions()[d].size);
  }
  for (const Output& output : outputs_) bytes += output.bytes;
  const bool is_kept =
      2 * bytes <= static_cast<double>(std::max(device_.l2_bytes, device_.l3_bytes));
  double cycles = 0;
  for (size_t n = 0; n < outputs_.size(); ++n) {
    const std::vector<int64_t>& strides = outputs_[n].strides;
    const bool has_rows = strides[pair.row] == 1 || strides[pair.column] == 1;
    const auto element = static_cast<double>(e_.outputs()[n].type.size_bytes());
    cycles += results * element * (is_kept ? kNearByte : kFarByte) * (has_rows ? 1 : kScattered);
  }
  return cycles;
}

}  // namespace mdh

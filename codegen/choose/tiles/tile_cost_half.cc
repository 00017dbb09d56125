// What half of the results takes where the others are equal to them.
#include <algorithm>

#include "codegen/choose/tiles/tile_cost.h"

namespace mdh {

double TileCost::Cycles(const TileChoice& choice) const {
  const double cycles = CyclesOfAll(choice);
  return choice.mirrors ? cycles * ShareOnDiagonal(choice) + StoringAgain() : cycles;
}

// Of all register tiles those with a point on or below the diagonal.
double TileCost::ShareOnDiagonal(const TileChoice& choice) const {
  constexpr int64_t kManyTiles = 256;
  const auto [row, column] = *pair_;
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

double TileCost::StoringAgain() const {
  constexpr double kTransposed = 2.5, kScattered = 5;  // of a result, measured
  double results = 0.5;
  for (int d = 0; d < e_.rank(); ++d) {
    if (!e_.is_reduction(d)) results *= static_cast<double>(e_.dimensions()[d].size);
  }
  double each = 0;
  for (const Output& output : outputs_) {
    const bool has_rows = output.strides[pair_->row] == 1 || output.strides[pair_->column] == 1;
    each += has_rows ? kTransposed : kScattered;
  }
  return results * each;
}

}  // namespace mdh

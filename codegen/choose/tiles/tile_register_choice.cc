#include "codegen/choose/tiles/tile_register_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/choose/tiles/tile_cost.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"

namespace mdh {
namespace {

constexpr int64_t kMostTilesAlong = 5;  // of either operand
constexpr int64_t kUnitsAtOnce = 2;     // along k, in the code of a loop

class Choices {
 public:
  Choices(const Expression& e, const DotPlan& plan) : e_(e), plan_(plan) {}

  std::vector<TileChoice> Run() {
    for (int v = 0; v < e_.rank(); ++v) {
      const std::optional<DotSides> sides = SidesOf(e_, plan_, v);
      if (!sides.has_value() || e_.is_reduction(v) || size(v) < kTileWords) continue;
      TryLanes(v, *sides);
    }
    return std::move(found_);
  }

 private:
  int64_t size(int d) const { return e_.dimensions()[d].size; }

  void TryLanes(int v, const DotSides& sides) {
    TileChoice choice;
    choice.tile.assign(e_.rank(), 1);
    choice.packed.assign(e_.inputs().size(), false);
    choice.vector_dimension = v;
    choice.lanes = kTileWords;
    choice.dot = plan_.dimension + 1;
    choice.dot_unit = DotUnit::kTiles;
    choice.group = plan_.group;
    choice.packed[sides.vector.buffer] = true;
    choice.packed[sides.broadcast.buffer] = !HasRowsInPlace(e_, sides.broadcast, plan_.dimension);
    for (const int64_t units : {int64_t{1}, kUnitsAtOnce}) {
      const int64_t k = units * kTileWords * plan_.group;
      choice.tile[plan_.dimension] = std::min(k, size(plan_.dimension));
      for (int64_t n = 1; n <= kMostTilesAlong; ++n) {
        choice.tile[v] = std::min(size(v), n * kTileWords);
        TryRows(v, sides, choice);
        if (choice.tile[v] == size(v)) break;
      }
      if (k >= size(plan_.dimension)) break;
    }
  }

  // Rows along one dimension, as many as fill tiles, or fewer that divide it; and a few points of
  // another one.
  void TryRows(int v, const DotSides& sides, const TileChoice& choice) {
    std::vector<int> rows;
    for (int d = 0; d < e_.rank(); ++d) {
      const std::optional<DotSides> along = SidesOf(e_, plan_, d);
      const bool is_of_rows =
          along.has_value() && along->vector.parameter == sides.broadcast.parameter;
      if (is_of_rows && d != v && !e_.is_reduction(d) && size(d) > 1) rows.push_back(d);
    }
    if (rows.empty()) Add(choice, v);
    for (const int r : rows) {
      for (int64_t m = 1; m <= kMostTilesAlong; ++m) {
        TileChoice one = choice;
        const int64_t tiles = CeilDivide(size(r), m * kTileRows);
        for (const int64_t points : {m * kTileRows, CeilDivide(size(r), tiles)}) {
          one.tile[r] = std::min(size(r), points);
          Add(one, v);
          for (const int other : rows) {
            if (other == r || size(r) > 2 * kTileRows) continue;
            for (const int64_t beside : {2, 3, 4}) {
              TileChoice two = one;
              two.tile[other] = std::min(size(other), beside);
              if (two.tile[other] < one.tile[r]) Add(two, v);
            }
          }
        }
        if (m * kTileRows >= size(r)) break;
      }
    }
  }

  void Add(const TileChoice& choice, int v) {
    if (PlanTiles(e_, plan_, v, choice.tile).ok()) found_.push_back(choice);
  }

  const Expression& e_;
  const DotPlan& plan_;
  std::vector<TileChoice> found_;
};

}  // namespace

std::vector<TileChoice> ChoicesOnTiles(const Expression& expression,
                                       const DeviceDescription& device, int d) {
  if (!expression.is_reduction(d)) return {};
  Result<DotPlan> plan = PlanDot(expression, d);
  if (!plan.ok()) return {};
  plan->unit = DotUnit::kTiles;
  if (DotInstructionFor(*plan, device) == nullptr) return {};
  return Choices(expression, *plan).Run();
}

InputParameters CopyForTiles(const Buffer& buffer, const TileChoice& choice, int layer,
                             int cache_layer) {
  const bool has_lanes = StrideAlong(buffer, 0, choice.vector_dimension) != 0;
  const int along = has_lanes ? choice.vector_dimension : choice.dot - 1;
  int index = 0;
  for (int x = 0; x < std::ssize(buffer.extents); ++x) {
    if (PlainDimension(buffer, x) == along) index = x;
  }
  InputParameters packed = ReadInPlace(buffer);
  packed.stage_layer = CanStageWhole(buffer) ? layer : cache_layer;
  packed.strip_dimension = has_lanes ? index : -1;
  packed.layout.erase(packed.layout.begin() + index);
  packed.layout.insert(has_lanes ? packed.layout.begin() : packed.layout.end(), index);
  return packed;
}

// ---- Cycles ----

namespace {

constexpr double kLoadTile = 8, kStoreTile = 16;  // of 16 rows, in the first-level cache
constexpr double kMultiplyRow = 1;                // each of 16 words by 16 lanes
constexpr double kTileLatency = 52;               // from one multiplication to the next of its sums
constexpr double kTakeRow = 3;                    // from sums to a vector, and from there
constexpr double kBeginTile = 40;                 // a register tile
constexpr double kConfigure = 150;                // other shapes
constexpr double kRestWord = 2;                   // of what fills no tile along k, to copy it

}  // namespace

double TileCost::CyclesOnTiles(const TileChoice& choice) const {
  Result<DotPlan> plan = PlanDot(e_, choice.dot - 1);
  const int v = choice.vector_dimension;
  const Result<DotTiles> tiles = PlanTiles(e_, *plan, v, choice.tile);
  const auto of_rows = static_cast<double>(tiles->RowTiles(choice.tile));
  const auto of_lanes = static_cast<double>(tiles->LaneTiles(choice.tile, v));
  const double rows =
      tiles->rows < 0
          ? 1
          : static_cast<double>(std::min<int64_t>(
                kTileRows, CeilDivide(choice.tile[tiles->rows],
                                      CeilDivide(choice.tile[tiles->rows], int64_t{kTileRows}))));
  const double loads = (of_rows * rows / kTileRows + of_lanes) * kLoadTile;
  const double unit = std::max({of_rows * of_lanes * rows * kMultiplyRow, loads, kTileLatency});
  double reductions = 1, rest = 0, tile_count = 1, shapes = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    const int64_t size = e_.dimensions()[d].size;
    if (d == plan->dimension) {
      const int64_t words = CeilDivide(size, plan->group), left = words % tiles->words;
      reductions *= static_cast<double>(CeilDivide(words, int64_t{tiles->words}));
      const bool is_copied = left > 0 || (size % plan->group != 0);
      rest = is_copied ? kRestWord * (of_rows * rows * static_cast<double>(tiles->words) +
                                      of_lanes * static_cast<double>(tiles->words))
                       : 0;
    } else if (e_.is_reduction(d)) {
      reductions *= static_cast<double>(size);
      rest *= static_cast<double>(size);
    } else {
      const int64_t left = size % choice.tile[d];
      tile_count *= static_cast<double>(CeilDivide(size, choice.tile[d]));
      if (left != 0 && (d == v || d == tiles->rows)) shapes = 2;
    }
  }
  const double results = of_rows * of_lanes * (kStoreTile + (IsStraight(v) ? 0 : rows * kTakeRow));
  const double configuring = shapes > 1 ? kConfigure / 2 : 0;
  return tile_count * (reductions * unit + rest + results + kBeginTile + configuring) + kConfigure +
         PackingCycles(choice) + MemoryCycles(choice);
}

// Whether sums are results as they are.
bool TileCost::IsStraight(int v) const {
  return e_.store() == nullptr && outputs_[0].strides[v] == 1 &&
         e_.outputs()[0].type.size_bytes() == 4;
}

}  // namespace mdh

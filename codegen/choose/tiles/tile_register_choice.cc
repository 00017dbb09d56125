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

  // Whether a copy has words of it, and strips along dimension v if that is one.
  bool CanCopy(const DotOperand& operand, int v) const {
    const Buffer& buffer = e_.inputs()[operand.buffer];
    bool has_strips = v < 0;
    for (int x = 0; x < std::ssize(buffer.extents); ++x) {
      has_strips |= PlainDimension(buffer, x) == v;
    }
    return has_strips && CanStage(buffer) && WordDimension(e_, plan_, operand) >= 0;
  }

  void TryLanes(int v, const DotSides& sides) {
    const bool is_in_place = HasRowsInPlace(e_, sides.broadcast, plan_.dimension);
    if (!CanCopy(sides.vector, v) || !(is_in_place || CanCopy(sides.broadcast, -1))) return;
    TileChoice choice;
    choice.tile.assign(e_.rank(), 1);
    choice.packed.assign(e_.inputs().size(), false);
    choice.vector_dimension = v;
    choice.lanes = kTileWords;
    choice.dot = plan_.dimension + 1;
    choice.dot_unit = DotUnit::kTiles;
    choice.group = plan_.group;
    choice.packed[sides.vector.buffer] = true;
    choice.packed[sides.broadcast.buffer] = !is_in_place;
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

// Of 16 rows: in the first-level cache, and where what a tile reads has no room in it.
constexpr double kLoadTile = 8, kLoadFarTile = 32;
constexpr double kStoreTile = 16;
constexpr double kMultiplyRow = 1;  // each of 16 words by 16 lanes
constexpr double kTakeRow = 3;      // from sums to a vector, and from there
constexpr double kBeginTile = 40;   // a register tile
constexpr double kConfigure = 250;  // other shapes
// Of what fills no tile along k, to copy it: a row, and a vector of lanes.
constexpr double kRestRow = 6, kRestLanes = 2;

}  // namespace

double TileCost::CyclesOnTiles(const TileChoice& choice) const {
  const Result<DotPlan> plan = PlanDot(e_, choice.dot - 1);
  const int v = choice.vector_dimension, k = plan->dimension;
  const Result<DotTiles> tiles = PlanTiles(e_, *plan, v, choice.tile);
  const auto of_rows = static_cast<double>(tiles->RowTiles(choice.tile));
  const auto of_lanes = static_cast<double>(tiles->LaneTiles(choice.tile, v));
  const int64_t along = tiles->rows < 0 ? 1 : choice.tile[tiles->rows];
  const double rows =
      static_cast<double>(along) / static_cast<double>(CeilDivide(along, int64_t{kTileRows}));
  const int64_t words = CeilDivide(e_.dimensions()[k].size, plan->group);
  double steps = static_cast<double>(CeilDivide(words, int64_t{tiles->words})), others = 1;
  double tile_count = 1;
  bool has_other_shapes = false;
  for (int d = 0; d < e_.rank(); ++d) {
    const int64_t size = e_.dimensions()[d].size;
    if (d == k) continue;
    (e_.is_reduction(d) ? others : tile_count) *=
        static_cast<double>(CeilDivide(size, e_.is_reduction(d) ? 1 : choice.tile[d]));
    has_other_shapes |= (d == v || d == tiles->rows) && size % choice.tile[d] != 0;
  }
  steps *= others;
  const double read = (of_rows * rows + of_lanes * kTileWords) * steps * tiles->words * kWordBytes;
  const bool is_far = read > 0.75 * static_cast<double>(device_.l1_bytes);
  const double loads =
      (of_rows * rows / kTileRows + of_lanes) * (is_far ? kLoadFarTile : kLoadTile);
  const double step = std::max(of_rows * of_lanes * rows * kMultiplyRow, loads);
  const bool has_parts_of_words = e_.dimensions()[k].size % plan->group != 0 &&
                                  !choice.packed[SidesOf(e_, *plan, v)->broadcast.buffer];
  const bool has_rest = words % tiles->words != 0 || has_parts_of_words;
  const double rest =
      has_rest ? others * (kRestRow * of_rows * rows + kRestLanes * of_lanes * tiles->words) : 0;
  const double results = of_rows * of_lanes * (kStoreTile + (IsStraight(v) ? 0 : rows * kTakeRow));
  const double configuring = has_other_shapes ? kConfigure / 2 : 0;
  return tile_count * (steps * step + rest + results + kBeginTile + configuring) + kConfigure +
         PackingCycles(choice) + MemoryCycles(choice);
}

// Whether sums are results as they are.
bool TileCost::IsStraight(int v) const {
  return e_.store() == nullptr && outputs_[0].strides[v] == 1 &&
         e_.outputs()[0].type.size_bytes() == 4;
}

}  // namespace mdh

#include "codegen/lower/tiles/tile_registers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/combine_lanes.h"
#include "codegen/lower/tiles/tile_accumulators.h"
#include "codegen/lower/tiles/tile_shape.h"
#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kRestBytes = kWordBytes * kTileWords;  // of a row of what fills no tile

}  // namespace

// The tiles along dimension d with at most so many rows or lanes each, for all points beside it.
std::vector<TileRegisters::OperandTile> TileRegisters::Tiles(int d, const std::vector<int>& beside,
                                                             int64_t most) const {
  std::vector<OperandTile> tiles(1);
  tiles[0].point.pieces.assign(plan_.rank(), {0, 1});
  tiles[0].count = 1;
  const auto extend = [&tiles](int along, int64_t points, int64_t step, bool counts) {
    std::vector<OperandTile> next;
    for (const OperandTile& tile : tiles) {
      for (int64_t at = 0; at < points; at += step) {
        next.push_back(tile);
        next.back().point.pieces[along].offset = at;
        if (counts) next.back().count = std::min(step, points - at);
      }
    }
    tiles = std::move(next);
  };
  for (const int other : beside) extend(other, points_[other], 1, /*counts=*/false);
  if (d >= 0) extend(d, points_[d], most, /*counts=*/true);
  return tiles;
}

std::vector<TileRegisters::OperandTile> TileRegisters::RowTiles() const {
  return Tiles(tiles().rows, tiles().beside_rows, kTileRows);
}

std::vector<TileRegisters::OperandTile> TileRegisters::LaneTiles() const {
  return Tiles(plan_.vector_dimension(), tiles().beside_lanes, kTileWords);
}

int TileRegisters::SumTile(size_t row, size_t lane) const {
  return static_cast<int>(row * LaneTiles().size() + lane);
}

void TileRegisters::Begin(bool accumulates, Block& body) {
  const std::vector<OperandTile> rows = RowTiles(), lanes = LaneTiles();
  const int words = tiles().words;
  ConfigureTiles configure;
  Block zeros, loads;
  for (const OperandTile& row : rows) {
    for (const OperandTile& lane : lanes) {
      const auto sums = static_cast<int>(configure.shapes.size());
      zeros.push_back({ZeroTile{sums}});
      if (StoresStraight()) {
        loads.push_back({LoadTile{sums, plan_.targets()[0].pointer, OffsetOfSums(row, lane),
                                  BytesBetweenSums()}});
      }
      configure.shapes.push_back({static_cast<int>(row.count), static_cast<int>(lane.count)});
    }
  }
  // Operands behind the sums, as MultiplyStep has them: all tiles of the one with fewer, then as
  // many of the other as there is room for.
  const bool keeps_rows = rows.size() <= lanes.size();
  const std::vector<OperandTile>& kept = keeps_rows ? rows : lanes;
  const std::vector<OperandTile>& others = keeps_rows ? lanes : rows;
  const auto shape = [&](const OperandTile& tile, bool has_rows) {
    const int count = static_cast<int>(tile.count);
    configure.shapes.push_back(has_rows ? TileRows{count, words} : TileRows{words, count});
  };
  for (const OperandTile& tile : kept) shape(tile, keeps_rows);
  const int full = FullRegisters(others, static_cast<int>(configure.shapes.size()));
  for (int n = 0; n < full; ++n) shape(others.front(), !keeps_rows);
  if (others.back().count != others.front().count) shape(others.back(), !keeps_rows);
  body.push_back({std::move(configure)});
  if (!accumulates || !StoresStraight()) return Append(std::move(zeros), &body);
  body.push_back({If{{{Condition::Kind::kFlag, Index(0), Index(0), "first"}},
                     ShareBlock(std::move(zeros)),
                     ShareBlock(std::move(loads))}});
}

// Registers behind the first so many for tiles of the operand that has more: as many as there are
// with as many rows or lanes as the first one, and behind them one for the last ones with fewer.
int TileRegisters::FullRegisters(const std::vector<OperandTile>& others, int first) {
  const int left = kTileRegisters - first, tiles = static_cast<int>(others.size());
  const int uneven = others.back().count != others.front().count ? 1 : 0;
  return std::min(left, tiles) - uneven;
}

// All points of the block's reductions, a unit of words along k at a time.
std::vector<TileRegisters::Step> TileRegisters::Steps() const {
  const int k = plan_.dot()->dimension;
  std::vector<int64_t> others = points_;
  others[k] = 1;
  std::vector<Step> steps;
  const int64_t unit = static_cast<int64_t>(tiles().words) * plan_.dot()->group;
  for (const TilePoint& point : TileBox(plan_, others, /*reduced=*/true)) {
    for (int64_t at = 0; at < points_[k]; at += unit) {
      steps.push_back({point, std::min(unit, points_[k] - at)});
      steps.back().point.pieces[k] = {at, 1};
    }
  }
  return steps;
}

TilePoint TileRegisters::At(const TilePoint& tile, const Step& step) const {
  return JoinPoints(plan_, tile, step.point);
}

void TileRegisters::Multiply(Block& block) {
  for (const Step& step : Steps()) MultiplyStep(step, block);
}

// An outer product of tiles: those of the operand that has fewer are loaded once, each of the other
// is multiplied by all of them.
void TileRegisters::MultiplyStep(const Step& step, Block& block) {
  const std::vector<OperandTile> rows = RowTiles(), lanes = LaneTiles();
  const bool keeps_rows = rows.size() <= lanes.size();
  const size_t kept = std::min(rows.size(), lanes.size());
  const std::vector<OperandTile>& others = keeps_rows ? lanes : rows;
  const int first = static_cast<int>(rows.size() * lanes.size());
  const int first_other = first + static_cast<int>(kept);
  const auto load = [&](bool of_rows, size_t n, int to) {
    of_rows ? LoadRows(rows[n], step, to, block) : LoadLanes(lanes[n], step, to, block);
  };
  for (size_t n = 0; n < kept; ++n) load(keeps_rows, n, first + static_cast<int>(n));
  const int full = FullRegisters(others, first_other);
  for (size_t n = 0; n < others.size(); ++n) {
    const bool is_full = others[n].count == others.front().count;
    const int other = first_other + (is_full ? static_cast<int>(n) % full : full);
    load(!keeps_rows, n, other);
    for (size_t m = 0; m < kept; ++m) {
      const int of_kept = first + static_cast<int>(m);
      block.push_back(
          {MultiplyTiles{&plan_.tile_instruction(), keeps_rows ? SumTile(m, n) : SumTile(n, m),
                         keeps_rows ? of_kept : other, keeps_rows ? other : of_kept}});
    }
  }
}

// Whether all words of rows are there: in copies a last one has zeros for what there is not.
bool TileRegisters::FillsRows(const Step& step) const {
  const int group = plan_.dot()->group;
  const bool is_copied = plan_.StagedInput(plan_.dot_sides().broadcast.buffer) != nullptr;
  const int64_t words = is_copied ? CeilDivide(step.points, group) : step.points / group;
  return words == tiles().words;
}

bool TileRegisters::FillsLanes(const Step& step) const {
  return CeilDivide(step.points, plan_.dot()->group) == tiles().words;
}

// With room for a tile of elements of that type.
std::string TileRegisters::RestArray(const DotOperand& operand, ScalarType type, Block& block) {
  const std::string name = names_.Unique(absl::StrCat(plan_.input_name(operand.buffer), "_rest"));
  block.push_back(
      {DeclareArray{name, type, kTileRows * kRestBytes / SizeBytes(type), MemorySpace::kPrivate}});
  return name;
}

void TileRegisters::LoadRows(const OperandTile& tile, const Step& step, int to, Block& block) {
  const DotOperand& operand = plan_.dot_sides().broadcast;
  const int group = plan_.dot()->group;
  if (FillsRows(step)) {
    TileInputs::WordPlace place =
        inputs_.PlaceOfWords(operand, At(tile.point, step), tiles().rows, block);
    block.push_back(
        {LoadTile{to, std::move(place.pointer), std::move(place.offset), place.step_bytes}});
    return;
  }
  // Row by row, as elements where they are in place, with zeros behind what there is.
  const bool is_copied = plan_.StagedInput(operand.buffer) != nullptr;
  const ScalarType type = is_copied ? ScalarType::kUint32 : operand.type;
  const int64_t there = is_copied ? CeilDivide(step.points, group) : step.points;
  const std::string array = RestArray(operand, type, block);
  const std::string words = names_.Unique(absl::StrCat(array, "_words"));
  block.push_back({DeclareView{words, ScalarType::kUint32, /*is_const=*/false, array}});
  const Index row = Index::Variable("row");
  Index* const origin = tiles().rows < 0 ? nullptr : &origins_[tiles().rows];
  const Index first = origin == nullptr ? Index(0) : *origin;
  if (origin != nullptr) *origin = first + row;
  Block body;
  inputs_.StartBlock();
  const LoopValue zero = MakeLiteral(ScalarValue::Zero(ScalarType::kUint32));
  body.push_back({StoreElements{words, row * kTileWords, MakeSplat(zero, kTileWords), 1}});
  const TileInputs::WordPlace place =
      inputs_.PlaceOfWords(operand, At(tile.point, step), /*d=*/-1, body);
  int64_t at = 0;
  for (const int width : LaneRuns(there, kRestBytes / SizeBytes(type))) {
    body.push_back(
        {StoreElements{array, row * (kRestBytes / SizeBytes(type)) + Index(at),
                       MakeLoad(place.pointer, place.offset + Index(at), {type, width}, 1), 1}});
    at += width;
  }
  inputs_.StartBlock();
  if (origin != nullptr) *origin = first;
  block.push_back({For{"row", Index(0), Index(tile.count), 1, false, ShareBlock(std::move(body))}});
  block.push_back({LoadTile{to, array, Index(0), kRestBytes}});
}

void TileRegisters::LoadLanes(const OperandTile& tile, const Step& step, int to, Block& block) {
  const DotOperand& operand = plan_.dot_sides().vector;
  const int k = plan_.dot()->dimension, group = plan_.dot()->group, v = plan_.vector_dimension();
  if (FillsLanes(step)) {
    TileInputs::WordPlace place = inputs_.PlaceOfWords(operand, At(tile.point, step), k, block);
    block.push_back(
        {LoadTile{to, std::move(place.pointer), std::move(place.offset), place.step_bytes}});
    return;
  }
  const std::string array = RestArray(operand, ScalarType::kUint32, block);
  for (int word = 0; word < tiles().words; ++word) {
    for (const TilePiece& piece : plan_.Pieces(v, tile.count)) {
      TilePoint point = At(tile.point, step);
      point.pieces[k].offset += static_cast<int64_t>(word) * group;
      point.pieces[k].depth = group;
      point.pieces[v] = {tile.point.pieces[v].offset + piece.offset, piece.width};
      const LoopValue zero = MakeLiteral(ScalarValue::Zero(ScalarType::kUint32));
      const bool is_there = static_cast<int64_t>(word) * group < step.points;
      block.push_back({StoreElements{
          array, Index(word * kTileWords + piece.offset),
          is_there ? inputs_.LoadWord(operand, point, block) : MakeSplat(zero, piece.width), 1}});
    }
  }
  block.push_back({LoadTile{to, array, Index(0), kWordBytes * kTileWords}});
}

// Whether results are the sums as they are, in rows of neighbours: those of parts of the
// reductions, too, which go on with what is there.
bool TileRegisters::StoresStraight() const {
  if (plan_.tiles_finish() || plan_.streams_results()) return false;
  const ResultTarget& target = plan_.targets()[0];
  return target.type == plan_.tile_instruction().accumulator &&
         target.offset.coefficients[plan_.vector_dimension()] == 1;
}

Index TileRegisters::OffsetOfSums(const OperandTile& row, const OperandTile& lane) const {
  const AffineIndex& at = plan_.targets()[0].offset;
  Index offset(at.constant);
  for (int d = 0; d < plan_.rank(); ++d) {
    if (at.coefficients[d] == 0) continue;
    const int64_t inside = row.point.pieces[d].offset + lane.point.pieces[d].offset;
    offset = offset + (origins_[d] + Index(inside)) * at.coefficients[d];
  }
  return offset;
}

int64_t TileRegisters::BytesBetweenSums() const {
  const int r = tiles().rows;
  return kWordBytes * (r < 0 ? kTileWords : plan_.targets()[0].offset.coefficients[r]);
}

void TileRegisters::StoreResults(bool accumulates, Block& body) {
  const int v = plan_.vector_dimension(), r = tiles().rows;
  const std::vector<OperandTile> rows = RowTiles(), lanes = LaneTiles();
  if (StoresStraight()) {
    for (size_t m = 0; m < rows.size(); ++m) {
      for (size_t n = 0; n < lanes.size(); ++n) {
        body.push_back({StoreTile{SumTile(m, n), plan_.targets()[0].pointer,
                                  OffsetOfSums(rows[m], lanes[n]), BytesBetweenSums()}});
      }
    }
    return;
  }
  // An array with a row of lanes for every row of every tile, which vectors take from there.
  const int64_t row_words = RoundUp(points_[v], kTileWords);
  const std::string array = names_.Unique("sums");
  const std::vector<OperandTile> across = Tiles(-1, tiles().beside_lanes, 1);
  const auto blocks = static_cast<int64_t>(rows.size() * across.size());
  body.push_back({DeclareArray{array, plan_.tile_instruction().accumulator,
                               blocks * kTileRows * row_words, MemorySpace::kPrivate}});
  for (size_t m = 0; m < rows.size(); ++m) {
    for (size_t n = 0; n < lanes.size(); ++n) {
      const int64_t column = lanes[n].point.pieces[v].offset;
      const size_t beside = n * across.size() / lanes.size();
      const auto block = static_cast<int64_t>(m + rows.size() * beside);
      body.push_back({StoreTile{SumTile(m, n), array, Index(block * kTileRows * row_words + column),
                                kWordBytes * row_words}});
    }
  }
  for (size_t n = 0; n < across.size(); ++n) {
    for (size_t m = 0; m < rows.size(); ++m) {
      std::vector<int64_t> of_row(static_cast<size_t>(plan_.rank()), 1);
      of_row[v] = points_[v];
      std::vector<Index> origins = origins_;
      for (int d = 0; d < plan_.rank(); ++d) {
        const int64_t at = rows[m].point.pieces[d].offset + across[n].point.pieces[d].offset;
        origins[d] = origins[d] + Index(at);
      }
      if (r >= 0) origins[r] = origins[r] + Index::Variable("row");
      const auto block = static_cast<int64_t>(m + rows.size() * n);
      const Index first = Index::Variable("row") * row_words + Index(block * kTileRows * row_words);
      TileAccumulators accumulators(plan_, of_row, /*has_loops=*/false, names_);
      Block row;
      for (const TilePoint& point : TileBox(plan_, of_row, /*reduced=*/false)) {
        accumulators.Take(point, array, first + Index(point.pieces[v].offset), row);
      }
      accumulators.StoreResults(origins, accumulates, row);
      body.push_back(
          {For{"row", Index(0), Index(rows[m].count), 1, false, ShareBlock(std::move(row))}});
    }
  }
}

}  // namespace mdh

// Register tiles on tile registers (DotUnit::kTiles, AMX): sums stay in them while the reductions
// run, and come to vectors a row at a time when they are done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/lower/tiles/loop_plan.h"
#include "codegen/lower/tiles/tile_inputs.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// Refers to its arguments. `points`: of the tile per dimension, those of reductions of the block at
// hand; `origins`: its first point. Used if LoopPlan::dot_tiles.
//
// Shapes are those of the tile function: tiles at the end of a dimension have fewer rows or lanes,
// so that nothing is read or written beside what there is. Along k a shape cannot change while sums
// are kept: words that fill no tile are copied, with zeros behind them.
class TileRegisters {
 public:
  TileRegisters(const LoopPlan& plan, const std::vector<int64_t>& points,
                std::vector<Index>& origins, TileInputs& inputs, NameAllocator& names)
      : plan_(plan), points_(points), origins_(origins), inputs_(inputs), names_(names) {}

  // Asks for the registers; sums are 0 or, if the tile `accumulates` and the flag `first` is not
  // set, what is in memory, where that is what they are.
  void Begin(bool accumulates, Block& body);
  // Adds the products of the reduced points of `points`.
  void Multiply(Block& block);
  void StoreResults(bool accumulates, Block& body);

 private:
  // A tile of an operand: its first point, and how many rows or lanes it has.
  struct OperandTile {
    TilePoint point;
    int64_t count;
  };
  // Some words along k.
  struct Step {
    TilePoint point;
    int64_t points;  // along k
  };

  const DotTiles& tiles() const { return *plan_.dot_tiles(); }
  std::vector<OperandTile> Tiles(int d, const std::vector<int>& beside, int64_t most) const;
  std::vector<OperandTile> RowTiles() const;
  std::vector<OperandTile> LaneTiles() const;
  int SumTile(size_t row, size_t lane) const;
  static int FullRegisters(const std::vector<OperandTile>& others, int first);
  std::vector<Step> Steps() const;
  TilePoint At(const TilePoint& tile, const Step& step) const;
  void MultiplyStep(const Step& step, Block& block);
  bool FillsRows(const Step& step) const;
  bool FillsLanes(const Step& step) const;
  void LoadRows(const OperandTile& tile, const Step& step, int to, Block& block);
  void LoadLanes(const OperandTile& tile, const Step& step, int to, Block& block);
  std::string RestArray(const DotOperand& operand, ScalarType type, Block& block);
  bool StoresStraight() const;
  Index OffsetOfSums(const OperandTile& row, const OperandTile& lane) const;
  int64_t BytesBetweenSums() const;

  const LoopPlan& plan_;
  const std::vector<int64_t>& points_;
  std::vector<Index>& origins_;
  TileInputs& inputs_;
  NameAllocator& names_;
};

}  // namespace mdh

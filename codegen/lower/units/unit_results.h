// What becomes of the sums of matrix units: the store function, conversion, and how they get to
// memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/lower/finish/finish_results.h"
#include "codegen/lower/units/unit_context.h"
#include "codegen/program/result_targets.h"

namespace mdh {

// Refers to `context`.
class UnitResults {
 public:
  explicit UnitResults(UnitContext& context);

  // Where parts of k leave their sums for further stages: scratch memory, and those stages.
  bool leaves_parts() const { return context_.plan().leaves_parts; }
  void AppendStages(LoopProgram* program);

  // Stores the sums of all threads of a block, which have met at a barrier behind the last use of
  // the shared array `room` (UnitRoomBytes).
  void Emit(const std::string& room, Block* block);

 private:
  // Two neighbours along n: sums `number` and the next one of the thread.
  struct Pair {
    Index number, m, n;
  };
  const Expression& computed() const { return context_.computed(); }
  ScalarType sum_type() const { return context_.plan().sum; }
  // Of the tile, those that the block stores.
  int64_t columns() const { return context_.unit().columns / context_.plan().sharers; }
  // Sums of a tile along m that the thread stores.
  int64_t own_of_tile() const { return tiles_.of_tile() / context_.plan().sharers; }
  Index FirstN() const;
  Block OverPairs(const std::function<void(const Pair& pair, Block* block)>& body);
  UnitContext::Point PointOf(const Index& m, const Index& n, Block* block);
  Index OffsetOf(const ResultTarget& target, const Index& m, const Index& n, Block* block);
  std::vector<Condition> Exists(const Index& m, const Index& n) const;
  LoopValue Sum(const Index& number, int lanes = 1) const;
  std::vector<LoopValue> Stored(const Index& number, const UnitContext::Point& at, Block* block);
  void CombineInCluster(const std::string& shown, Block* block);
  void ApplyStore(Block* block);
  void EmitStaged(const std::string& staging, Block* block);
  // Of the block's columns, those that are in shared memory at a time.
  struct StagedColumns {
    int64_t first, count;
  };
  void EmitMatrices(const std::string& staging, StagedColumns some, Block* block);
  void EmitPieces(const std::string& staging, StagedColumns some, Block* block);
  Index StagedBegin() const;
  Index StagedPlace(const Index& row, const Index& column) const;
  void EmitDirect(const ResultTarget& target, const Index& base, int width, Block* block);
  void EmitOneByOne(Block* block);
  bool FitsSums() const;

  UnitContext& context_;
  const SumTiles tiles_;
  std::vector<ResultTarget> arrays_, outputs_;
  StorePointers store_;
  std::string sums_;  // array of those of the columns that the block stores
};

}  // namespace mdh

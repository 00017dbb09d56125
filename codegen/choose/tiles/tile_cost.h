// The throughput model of CPUs: the cycles that a register tile should need on one core, by
// counting its instructions.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "codegen/choose/tiles/cache_parts.h"
#include "codegen/choose/tiles/reached_share.h"
#include "codegen/choose/tiles/tile_choice.h"
#include "codegen/lower/tiles/narrow_reduction.h"
#include "core/pipeline/factor_order.h"

namespace mdh {

// Refers to its arguments.
class TileCost {
 public:
  // `runs`: as of RankTiles.
  TileCost(const Expression& expression, const DeviceDescription& device, NumericsPolicy numerics,
           absl::Span<const int64_t> runs = {});

  // Of waiting for memory where rows of large inputs are read a few bytes at a time.
  double MemoryCycles(const TileChoice& choice) const;
  // Of all points with tiles as `choice` says, or, if it mirrors, of half of them and StoringAgain;
  // its own `cycles` are not looked at.
  double Cycles(const TileChoice& choice) const;
  // Of the stage that stores results below the diagonal once more.
  double StoringAgain(const ExchangeablePair& pair) const;
  // Vector registers that accumulators take, and those that operands take beside them.
  double Accumulators(const TileChoice& choice) const;
  double LiveOperands(const TileChoice& choice) const;
  // Points of a tile, counting a vector as one.
  double Operations(const TileChoice& choice) const;

 private:
  static constexpr int64_t kPageBytes = 4096;       // what is fetched ahead ends with it
  static constexpr double kArithmeticPerCycle = 2;  // vectors, of a core that is wide enough
  static constexpr double kTileCycles = 12;         // of starting and ending a tile
  static constexpr double kGatherPerLane = 1.5;

  // What is constant of an input.
  struct Input {
    const Buffer* buffer;
    std::vector<std::vector<int64_t>> strides;  // [access][dimension]
    double bytes;
    double reuse;
    double runs;  // that one copy is good for
  };
  struct Output {
    std::vector<int64_t> strides;  // per dimension
    double bytes;
  };

  bool ReducesNarrow(const TileChoice& choice) const;
  double SharedProducts(const TileChoice& choice) const;
  double PointOperations(const TileChoice& choice) const;
  double WordCost(const TileChoice& choice, int input) const;
  bool HasWordsAlong(const TileChoice& choice, int d) const;
  double ExcessVectors(const TileChoice& choice) const;
  double ExcessRegisters(const TileChoice& choice) const;
  double Pieces(const TileChoice& choice, int d, int64_t points) const;
  double UsedVectors(const TileChoice& choice, int input) const;
  double DistinctVectors(const TileChoice& choice, int input) const;
  double DistinctOfStar(const TileChoice& choice, int input) const;
  double LoadCost(const TileChoice& choice, int input) const;
  double CostOfLoad(const TileChoice& choice, int input, const std::vector<int64_t>& strides) const;
  bool IsBroadcast(const TileChoice& choice, int input) const;
  int64_t LinesKept(int64_t stride) const;
  double Streams(const TileChoice& choice, int input) const;
  bool CutsRows(const TileChoice& choice, int input) const;
  bool CutsLongRows(const TileChoice& choice, int input, int reduction) const;
  bool HasLanes(const TileChoice& choice, int input) const;
  double StepBytes(const TileChoice& choice, int input) const;
  double StepsAlong(const TileChoice& choice, int input) const;
  double PartsOfReductions(const TileChoice& choice) const;
  double StreamCycles(const TileChoice& choice) const;
  double BodyCycles(const TileChoice& choice) const;
  double CyclesWithout(const TileChoice& choice, int d) const;
  double LoopCycles(const TileChoice& choice, double body) const;
  double CyclesOfAll(const TileChoice& choice) const;
  double ShareOnDiagonal(const TileChoice& choice) const;
  double FarRows(const TileChoice& choice) const;
  // Results that are combined together when lanes are along a reduction.
  struct Run {
    int64_t results;
    bool has_neighbours;  // from one element of an output to the next
  };
  Run RunOfResults(const TileChoice& choice) const;
  double ChainCycles(const TileChoice& choice, double results) const;
  double LaneCycles(const TileChoice& choice, double results) const;
  double ScatterCost(int64_t stride, const TileChoice& choice) const;
  double StoreCycles(const TileChoice& choice) const;
  // On tile registers (tile_register_choice.cc).
  double CyclesOnTiles(const TileChoice& choice) const;
  bool IsStraight(int v) const;
  double PackingCycles(const TileChoice& choice) const;
  double TransposedCycles(const TileChoice& choice, int input, double column) const;
  double PartsOfVectors(const TileChoice& choice, int input) const;
  double LineCyclesOfStrips(const TileChoice& choice, int input) const;

  const Expression& e_;
  const DeviceDescription& device_;
  const CacheParts parts_;
  const ReachedShare reached_;
  std::optional<NarrowReduction> narrow_;
  std::vector<bool> rests_have_lanes_;  // per dimension, if it has the lanes
  double combine_operations_;           // of one combination
  double operations_;                   // per point, of f as it is written
  bool has_slow_halves_;                // dot instructions of vectors of bf16 are slow
  std::optional<FactorOrder> factors_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

}  // namespace mdh

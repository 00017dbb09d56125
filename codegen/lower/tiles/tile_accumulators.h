// Accumulators of a register tile: named variables for its results, how values are combined into
// them, and how they reach the outputs (paper, re-composition phase).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/lower/tiles/loop_plan.h"
#include "codegen/lower/tiles/tile_shape.h"
#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

// Refers to its arguments. `points`: points of the tile per dimension. `has_loops`: the reductions
// of the tile run in loops, so accumulators live across blocks and must start from something.
class TileAccumulators {
 public:
  TileAccumulators(const LoopPlan& plan, std::vector<int64_t> points, bool has_loops,
                   NameAllocator& names)
      : plan_(plan), points_(std::move(points)), has_loops_(has_loops), names_(names) {}

  // Combines the values of f, or the operands of LoopPlan::narrow_reduction, at result `point`,
  // reduction step `step` (number `step_number` of its block) into their accumulator.
  void Accumulate(const TilePoint& point, const TilePoint& step, size_t step_number,
                  std::vector<LoopValue> values, Block& block);
  // The same by a dot instruction, whose words are of the operands of LoopPlan::dot_sides
  // (tile_dots.cc).
  struct DotWords {
    LoopValue broadcast, vector;
  };
  void AddDot(const TilePoint& point, const TilePoint& step, size_t step_number,
              const DotWords& words, Block& block);
  // Counts what flipped signs of broadcast words add to results at `point`: once for all with the
  // same words of the other operand. By AddDot if tiles do not share it (LoopPlan::shares_excess);
  // if they do, before, in a block that begins with DeclareExcesses and ends with StoreExcesses.
  void CountExcess(const TilePoint& point, const TilePoint& step, const LoopValue& vector,
                   Block& block);
  void DeclareExcesses(Block& block) const;
  void StoreExcesses(Block& block) const;
  // What is stored in an array, in the result's type: at `offset` in front of the value of `point`,
  // as many as it has lanes.
  void Take(const TilePoint& point, const std::string& array, const Index& offset, Block& block);
  // After each block of points.
  void EndBlock(Block& block);
  // Declares what Accumulate has used; goes before the loops.
  void Declare(Block& body) const;
  // Requests the elements that StoreResults will add to; goes before the loops.
  void PrefetchResults(const std::vector<Index>& origins, Block& body) const;
  // Combines each result's accumulators and stores it at `origins`; with `accumulates`, adds what
  // is in the output already unless the flag `first` is set.
  void StoreResults(const std::vector<Index>& origins, bool accumulates, Block& body);

 private:
  struct Accumulator {
    TilePoint point;
    int width;
    std::vector<std::string> names;  // one per result of f
  };
  // A result of the tile whose chains are combined: a vector of lanes to combine, and points that
  // filled no vector. Tuples as f has results; one of the two may be empty.
  struct Partial {
    TilePoint point;
    std::vector<LoopValue> lanes, points;
  };
  // What is left when lanes are combined, too: a result or, in the lanes of a vector, several.
  struct Final {
    TilePoint point;  // of lane 0
    int width;
    std::vector<std::string> names;
    std::vector<int64_t> lane_steps;  // from one lane's point to that of the next; per dimension
    int off = 0;                      // last lanes without a point
  };
  // Where final values go.
  struct Destination {
    const std::vector<ResultTarget>& targets;
    bool streams;
    bool applies_store;
  };
  struct OutputElement {
    std::string pointer;
    Index offset;
    ScalarType type;
  };

  const Expression& expression() const { return plan_.expression(); }
  int results() const { return static_cast<int>(expression().function().results().size()); }
  ScalarType result_type(int r) const;  // in registers
  bool HasIdentity() const;
  bool NeedsFlag() const { return has_loops_ && !HasIdentity(); }
  std::string PointKey(const TilePoint& point) const;
  std::string NameOf(int r, const TilePoint& point, const std::string& suffix);
  size_t Find(const TilePoint& point, const TilePoint& step, size_t step_number, bool& is_new);
  LoopValue Named(const Accumulator& accumulator, int r) const;
  void AccumulateValues(const TilePoint& point, const TilePoint& step, size_t step_number,
                        std::vector<LoopValue> values, Block& block);
  LoopValue Flipped(const LoopValue& word, int lanes, Block& block);
  void DeclareSigns(Block& body) const;
  std::string WordsKey(const TilePoint& point) const;
  void SubtractExcess(Block& body);
  LoopValue FirstKeys() const;
  void CombineKeys(const TilePoint& point, LoopValue value, Block& block);
  void AddNarrow(const TilePoint& point, const TilePoint& step, size_t step_number,
                 const std::vector<LoopValue>& operands, Block& block);
  void Combine(const Accumulator& accumulator, const std::vector<LoopValue>& values, Block& block);
  void AssignTuple(const std::vector<std::string>& targets, int width,
                   std::vector<LoopValue> values, Block& block);
  std::vector<std::vector<Accumulator>> ByResult() const;
  std::vector<LoopValue> CombineChains(const std::vector<Accumulator>& chains, Block& body);
  int64_t ConstantOffset(const ResultTarget& target, const TilePoint& point) const;
  static int64_t StrideOf(const ResultTarget& target, const Final& final);
  std::vector<int64_t> Distance(const TilePoint& from, const TilePoint& to) const;
  std::vector<int64_t> Steps(const TilePoint& from, const TilePoint& to) const;
  bool AreEvenlyApart(const Partial& a, const Partial& b, const Partial& c, const Partial& d) const;
  std::vector<std::vector<Partial>> Runs(std::vector<Partial> partials) const;
  Final CombineRun(const std::vector<Partial>& run, Block& body);
  Final FinalOf(const TilePoint& point, std::vector<std::string> names) const;
  void EndKeys(Block& body);
  std::vector<Final> CombineAccumulators(Block& body);
  LoopValue FinalValue(const Final& final, int r) const;
  void StoreFinal(const Final& final, const std::vector<Index>& origins, const Destination& to,
                  Block& body);
  OutputElement ElementOf(const ResultTarget& target, const TilePoint& point,
                          const std::vector<Index>& origins) const;
  void AddToOutputs(const std::vector<Final>& finals, const std::vector<Index>& origins,
                    Block& body);

  const LoopPlan& plan_;
  const std::vector<int64_t> points_;
  const bool has_loops_;
  NameAllocator& names_;
  std::vector<Accumulator> accumulators_;
  std::map<std::string, size_t> numbers_;
  // Sums of short integers of the current block that become longer at its end.
  struct ShortSum {
    TilePoint point, step;
    std::string name;
  };
  std::map<std::string, ShortSum> short_sums_;  // by point
  // What flipped signs of broadcast words add to all results with the same words of the other
  // operand (DotSides::flips_broadcast).
  struct Excess {
    std::string name;
    int width;
    int64_t offset;                 // in the array of those that tiles share
    std::set<std::string> counted;  // steps of the block
  };
  int64_t excess_lanes_ = 0;
  std::map<std::string, Excess> excesses_;            // by words of the other operand
  std::map<std::string, std::string> excess_of_;      // by result: which
  std::map<std::string, std::string> flipped_words_;  // of the block, by word and lanes
  std::string signs_;                                 // those of all bytes; empty: not used
  // Extremes of halves, as vectors of keys (OrderKeys) until the loops have ended.
  struct KeyExtreme {
    TilePoint point;
    std::string name;
  };
  std::map<std::string, KeyExtreme> key_extremes_;  // by point
};

}  // namespace mdh

// The space of configurations with register tiles, for CPUs.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/decomposition/dot_plan.h"
#include "tuner/decompositions/mdh_space_kind.h"

namespace mdh {

class RegisterDecompositions : public MdhSpaceKind {
 public:
  explicit RegisterDecompositions(MdhProblem problem);

  TuningParameters Decode(absl::Span<const int64_t> configuration) const override;
  Configuration Read(const TuningParameters& parameters) const override;

 private:
  // By dimensions of more than one point.
  static constexpr int kExactRank = 2;   // up to here, products of operations are exact
  static constexpr int kMiddleRank = 3;  // beyond, they are rounded to powers of two
  static constexpr int kCopyRank = 5;    // beyond, parts of inputs are not copied
  static constexpr int64_t kMaxRegisterFactor = 16;
  // Of a tile on tile registers, along one dimension.
  static constexpr int64_t kTileFactors[] = {32, 48, 64, 96, 128};

  // Copies of an input; numbers of parameters.
  struct Staging {
    int layer, strip;
    PermutationDigits layout;
  };

  // ---- Parameters (mdh_space_registers.cc) ----
  void AddLanes();
  void AddStores();
  void LimitStores();
  void AddRemainder();
  std::vector<Buffer> CopiesOf(int b) const;
  void AddStaging(int b);
  bool HasStrips(const Buffer& copy, int x) const;
  void LimitSeparateStrips(int b, const std::vector<Buffer>& copies);
  void AddDimension(int d);
  void AddOrder(int l, int d, const DimensionParts& parts);
  void AddOrderedLevels(int d, DimensionParts& parts);
  bool IsAlongRows(int d) const;
  std::vector<int64_t> VectorDimensions() const;
  std::vector<int64_t> LaneCounts(const std::vector<int64_t>& dimensions) const;
  bool HasShortLanes(int d) const;
  bool IsAlongOutputs(int d) const;
  const std::vector<int64_t>& PartsOfLoops() const;
  // Level 0 is the register tile where there are registers; the last one is what a core has.
  int LevelOf(int layer) const { return innermost_ - layer + (has_registers_ ? 1 : 0); }
  Formula RegisterTile(int d) const { return dimensions_.at(d).outer(has_registers_ ? 0 : -1); }

  // ---- Limits (mdh_space_registers_limits.cc) ----
  void AddLimits();
  void LimitCopies(int b);
  void LimitCopy(int b, const Buffer& copy);
  double WholeBytes() const;
  double OperationLimit() const;
  double MaxSlots() const;
  int64_t MostRegistersOfVector() const;
  Formula RegistersOfVector() const;
  Formula Pieces(const Formula& points, int d) const;

  // ---- Decisions of schedules (mdh_space_registers_schedule.cc) ----
  ExtentRange TileRange(int layer, int d, OpenCodes open) const override;
  void SetVectors(OpenCodes open, DesignRanges& ranges) const override;
  void SetTiles(OpenCodes open, DesignRanges& ranges) const;
  bool MayBeNear(int b, int d, OpenCodes open) const;
  bool MayBeNearInCopy(int b, int d, int layer, OpenCodes open) const;
  Formula TileOf(int layer, int d) const override;
  Formula PartsOf(int layer, int d) const override;
  Formula IsOutside(MdhLevel level, MdhLevel other) const override;
  Formula AxisOf(MdhLevel level) const override;
  std::optional<Formula> Registers() const override;
  std::optional<Formula> FormulaOf(const Decision& decision) const override;

  // ---- Dot instructions (mdh_space_registers_dots.cc) ----
  void AddDots();
  void LimitDots(const DotPlan& plan);
  void LimitGroups(int b);
  // Those of tile registers, behind all choices that they limit.
  void LimitTiles();
  void LimitTiles(const DotPlan& plan);
  void LimitOperandsOfTiles(const DotPlan& plan, const Formula& is_other, int v);
  Formula RowTiles(const DotPlan& plan, int v) const;
  Formula LaneTiles(const DotPlan& plan, int v) const;
  Formula IsOnTiles() const;
  int64_t MostRegisterFactor() const;

  // ---- Configurations (mdh_space_registers_decode.cc) ----
  int64_t LanesOf(absl::Span<const int64_t> c, int d) const {
    return c[vector_dimension_] == d ? c[lanes_] : 1;
  }

  const MdhProblem& p_;
  const Expression& e_;
  const Expression separate_;  // WithSeparateAccesses
  const int innermost_;        // layer of the register tiles
  int lanes_layer_;            // layer whose tiles are the lanes, or -1
  const bool has_registers_;
  const bool decides_lanes_;
  const bool offers_tiles_;
  const std::vector<int> turn_;

  int vector_dimension_, lanes_;
  std::vector<int64_t> lane_counts_;
  std::vector<Formula> lanes_of_;
  std::vector<bool> has_lanes_;
  std::vector<Staging> staging_;
  std::map<int, DimensionParts> dimensions_;
  std::vector<OrderDigits> orders_;
};

}  // namespace mdh

// The space of configurations that are lowered level by level: CUDA, OpenCL, and CPUs without
// register tiles.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/decomposition/nest_shape.h"
#include "tuner/decompositions/mdh_space_kind.h"

namespace mdh {

// With explicit memory, a nest is: blocks, then loops of the outermost memory layer ("outer
// loops"), threads, and the loops of the other memory layers ("inner loops"); where threads stand
// among the outer loops, and which of those run innermost, is a choice. Copies in shared memory are
// made in front of the inner loops, those in registers in front of the loops of the register layer.
class NestDecompositions : public MdhSpaceKind {
 public:
  explicit NestDecompositions(MdhProblem problem);

  TuningParameters Decode(absl::Span<const int64_t> configuration) const override;
  Configuration Read(const TuningParameters& parameters) const override;

 private:
  // Where the loops of the outermost memory layer and the threads are: all of these loops around
  // the threads; all inside; prefix sums, threads, reductions, with the loops of kept dimensions
  // innermost; prefix sums, kept dimensions, threads, reductions.
  static constexpr int64_t kNested = 0, kThreadsFirst = 1, kResultsInnermost = 2,
                           kThreadsInside = 3;
  // Where results accumulate: in device memory, or from the inner loops on, or from the outer loops
  // of reductions on.
  static constexpr int64_t kInDevice = 0, kRegistersInside = 1, kRegistersAround = 2,
                           kSharedInside = 3, kSharedAround = 4;
  // Copies of an input.
  static constexpr int64_t kNoCopy = 0, kShared = 1, kPrivate = 2, kSharedAndPrivate = 3;
  // What threads along reductions combine in.
  static constexpr int64_t kCombineInDevice = 0, kCombineInShared = 1, kShuffle = 2;

  // An input that can be copied; numbers of parameters, or -1.
  struct InputChoices {
    int copy = -1, padding = -1, width = -1, stages = -1, mode = -1;
    PermutationDigits layout;
  };

  // ---- Parameters (mdh_space_nest.cc) ----
  void AddDimension(int d);
  std::vector<int64_t> CountsOf(int layer, int d) const;
  bool IsLongest(int d) const;
  std::vector<int64_t> CountsAlone(int layer, int d) const;
  void AddOrder(int layer, int d);
  void RequireOrderedParts(int d);
  void AddExplicitChoices();
  void AddResults();
  void AddPlaces();
  void AddBlockCombination();
  void AddGrid();
  void AddBlock();
  void AddCopyFlags();
  void AddCopyDetails();
  void RequireLoopAround(int b);
  void AddResidency();
  void AddLanes();

  bool is_explicit() const { return p_.model.memory == MemoryKind::kExplicit; }
  bool is_wide() const;
  bool has_warps() const { return warps_ >= 0; }
  bool is_core(int layer) const { return p_.model.layers[layer].memory_region.empty(); }
  bool is_thread(int layer) const { return layer == threads_ || layer == warps_; }
  bool IsKept(int d) const { return e_.combine_operators()[d].is_concat(); }
  bool MayRunInParallel(int d) const;  // threads along d
  bool MayBeCut(int d) const;
  bool MayBeRest(int layer, int d) const;
  int64_t UnrolledParts(int d) const;
  int LevelOf(int layer) const { return layers_ - 1 - layer; }
  const Formula& Parts(int layer, int d) const { return dimensions_.at(d).parts(LevelOf(layer)); }
  int64_t MostParts(int layer, int d) const { return dimensions_.at(d).most(LevelOf(layer)); }
  // Of tile[layer][d].
  Formula Tile(int layer, int d) const { return dimensions_.at(d).outer(LevelOf(layer) - 1); }
  bool has(int parameter) const { return parameter >= 0; }
  Formula IsInnermost() const;  // kResultsInnermost
  // No loops of kept dimensions are inside of those of the register layer.
  Formula IsOutside() const { return HasKept() ? !IsInnermost() : Formula(true); }
  bool HasKept() const;

  // ---- Limits (mdh_space_nest_limits.cc, mdh_space_nest_copies.cc) ----
  void AddLimits();
  void LimitBlocks();
  void LimitThreads();
  void LimitRegisters();
  Formula LogOfBox(int b) const;
  void LimitCopies(int b);
  void LimitPrivateCopies(int v);
  void LimitReductions();
  void LimitOrderedLoops();
  void KeepOrderedLoopsInside();
  void LimitUnrolling();
  // Some configurations have NestShape::NeedsPresence.
  bool MayNeedPresence() const {
    return e_.has_reduction() && !e_.reduction().identity().has_value();
  }
  int64_t ResultWords() const;
  double ResultBytes() const;
  double SharedBytesForCombining() const;
  double UnrolledPoints() const;
  double UnrolledReductions() const;
  double MaxSlots() const;
  double SharedBytesForCopies(int64_t resident_blocks = 1) const;
  Formula ResidencyBits() const;
  int64_t SharedBitsOf(int64_t resident_blocks) const;
  Formula SharedResidencyBits() const;
  std::vector<int64_t> GridCaps() const;
  int CopyWidth(int b) const;
  int WidthOf(int v) const;
  bool MayBeAsynchronous(int b) const;
  void LimitAsyncCopies(int b);
  Formula WidthFits(int b, int64_t width) const;
  Formula LogOfParts(int d, const std::vector<int>& layers) const;
  Formula LogOfExtent(int v, int x) const;

  // ---- Decisions of schedules (mdh_space_nest_schedule.cc) ----
  ExtentRange TileRange(int layer, int d, OpenCodes open) const override {
    return dimensions_.at(d).OuterRange(open, {1, 1}, LevelOf(layer) - 1);
  }
  Formula TileOf(int layer, int d) const override { return Tile(layer, d); }
  Formula PartsOf(int layer, int d) const override { return Parts(layer, d); }
  Formula IsOutside(MdhLevel level, MdhLevel other) const override;
  Formula IsOutsideInOuter(int d, int other) const;
  Formula AxisOf(MdhLevel level) const override;
  bool HasExactAxes(int layer) const override;
  std::optional<Formula> Registers() const override;
  std::optional<Formula> ElementsInRegisters(int v) const;
  std::optional<Formula> FormulaOf(const Decision& decision) const override;
  std::vector<MdhLevel> Loops() const;
  Formula IsActive(MdhLevel level) const { return Parts(level.layer, level.dimension) > 1; }
  Formula RegionOfResults(MdhLevel level) const;
  Formula ResultsAreIn(const std::vector<RegionStep>& steps) const;
  Formula CopiesAreIn(int b, const std::vector<RegionStep>& steps) const;
  Formula IsFirst(MdhLevel from, bool is_private) const;
  Formula LayoutIs(const Decision& decision) const;
  Formula LanesOf(MdhLevel level) const;
  Formula RegionOfCombination(MdhLevel level) const;

  // ---- Configurations (mdh_space_nest_decode.cc) ----
  using Codes = absl::Span<const int64_t>;
  int64_t Code(Codes c, int parameter, int64_t otherwise) const {
    return parameter < 0 ? otherwise : c[parameter];
  }
  int Axis(Codes c, int parameter) const { return static_cast<int>(Code(c, parameter, 0)); }
  std::vector<MdhLevel> DecodeOrder(Codes c, const TuningParameters& p) const;
  void DecodeAssignment(Codes c, TuningParameters& p) const;
  void DecodeLanes(Codes c, TuningParameters& p) const;
  void DecodeResults(Codes c, TuningParameters& p) const;
  void DecodeInput(Codes c, int b, TuningParameters& p) const;
  std::vector<int> AxesOf(const TuningParameters& p, int layer, int x, int y) const;
  bool AreAxes(const TuningParameters& p, const NestShape& shape, int layer, int x, int y) const;
  int64_t PlaceOf(const TuningParameters& p) const;
  void ReadExplicit(const TuningParameters& p, Configuration& c) const;
  void ReadResults(const TuningParameters& p, int64_t place, Configuration& c) const;
  void ReadAssignment(const TuningParameters& p, Configuration& c) const;
  void ReadLanes(const TuningParameters& p, Configuration& c) const;
  void ReadInput(const TuningParameters& p, int b, Configuration& c) const;

  const MdhProblem& p_;
  const Expression& e_;
  const Expression views_;  // with an input of its own for each kind of accesses; v: one of them
  const int layers_;
  const int threads_, warps_;                     // layers; -1
  int outer_ = -1, inner_ = -1, registers_ = -1;  // memory layers, from the outside; -1
  int regions_ = 0;
  std::vector<int> turn_;

  std::map<int, DimensionParts> dimensions_;
  std::vector<OrderDigits> orders_;  // per layer; empty: no choice
  int innermost_ = -1, place_ = -1, results_ = -1, combine_ = -1;
  int lanes_ = -1;
  // Tiles of lanes along x and y; values of lanes_ are their numbers, and 0 is none.
  std::vector<std::pair<int64_t, int64_t>> tiles_;
  int grid_x_ = -1, grid_y_ = -1, block_x_ = -1, block_y_ = -1;
  std::vector<InputChoices> inputs_;
  ProductLimit results_of_thread_ = ProductLimit("", 1, 1), unrolled_ = ProductLimit("", 1, 1);
};

}  // namespace mdh

// What a configuration means for the loop nest that is generated level by level: places, sizes and
// counts that Validate limits and that code generation uses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// A decomposition without its checks: what follows expects shapes to be right (one extent per
// level, orders and assignments complete) and extents within their bounds.
class NestShape {
 public:
  // One MDH level where it stands in the order of the phase, outermost first.
  struct Level {
    MdhLevel level;
    AsmLevel assigned;
    LayerRole role;  // of the layer that it is assigned to
    int64_t parts;   // #PRT
    int64_t tile;    // points of one part
  };

  // Refers to its arguments: a model made on the spot would be gone.
  NestShape(const Expression& expression, const SystemModel& model,
            const TuningParameters& parameters);
  NestShape(const Expression&, SystemModel&&, const TuningParameters&) = delete;

  const Expression& expression() const { return *expression_; }
  const SystemModel& model() const { return *model_; }
  const TuningParameters& parameters() const { return *parameters_; }
  const std::vector<Level>& levels() const { return levels_; }
  int count() const { return static_cast<int>(levels_.size()); }
  bool is_parallel(int n) const;  // blocks, warps or threads
  bool is_thread(int n) const;    // warps or threads
  bool is_reduced(int n) const { return expression_->is_reduction(levels_[n].level.dimension); }
  bool is_core(int n) const { return levels_[n].role == LayerRole::kCores; }
  // Points of one part of the core levels along dimension d: all of them, if it is not cut there.
  int64_t CorePart(int d) const;

  // Whether some point of the parts along dimension d lies outside of its size.
  bool IsGuarded(int d) const;
  // Whether a part of the parallel level may have no point at all, so that reductions over its
  // parts need something that is neutral: blocks that begin outside of the dimension; threads, if
  // one begins there in some iteration of the loops in each of which they combine their results.
  bool MayBeEmpty(int n) const;
  // Whether partial results need to say whether they are those of any point: some may be empty, and
  // the operator has no neutral element (codegen/program/presence.h). That is one more result, of
  // type bool.
  bool NeedsPresence() const;
  // Of the results as they are combined.
  std::vector<ScalarType> PartialTypes() const;

  // Region of an input (D3) or output (R3) buffer at place n; 0 where memory is not explicit.
  int InputRegion(int buffer, int n) const;
  int OutputRegion(int buffer, int n) const;
  // The places in front of which copies of an input are made: where region or layout change.
  std::vector<int> CopyPlaces(int buffer) const;
  // Numbers of the shared memory's region (LM, SM); registers come after it, device memory before.
  int shared_region() const { return shared_region_; }
  // Order of the buffer's dimensions at place n, outermost first (D4).
  std::vector<int> LayoutAt(int buffer, int n) const;
  // The first sequential level whose results are kept in registers or shared memory, which means
  // that threads keep the results of all levels from there on; count(): nowhere. With caches, the
  // outermost one whose results fit on the stack.
  int AccumulatorPlace() const;
  bool AccumulatesInSharedMemory() const;
  // Results that one thread keeps at that place: of the sequential levels from there on that are
  // not reduced. As a tile: points along each dimension, 1 along reduced ones.
  int64_t AccumulatorElements() const;
  std::vector<int64_t> AccumulatorTile() const;

  // The box of buffer indices that a copy made at place n holds: in dimension x
  // origin(x) + step(x) * (0 .. extent(x) - 1). With `shared`, for all threads of a block.
  struct Box {
    std::vector<int64_t> extents;
    std::vector<int64_t> steps;
    int64_t elements() const;
  };
  Box CopyBox(int buffer, int n, bool shared) const;
  // Whether the box holds all parts of level m, rather than the one at hand.
  bool IsInBox(int m, int n, bool shared) const;

  // Blocks of the grid and threads of a block along x, y, z: ASM dimensions beyond the third are
  // folded into z (appendix C.4); with warps, threads run along x and warps along y.
  std::array<int64_t, 3> Grid() const;
  std::array<int64_t, 3> Block() const;
  // Of them, the blocks along each axis that have results in common: those along reductions.
  std::array<int64_t, 3> Cluster() const;
  int64_t ThreadsPerBlock() const;
  // Of the level of threads at place n: how many of its parts a tile of lanes has.
  int64_t Lanes(int n) const;

  // Parts along reduced dimensions whose results meet in device memory: blocks, and threads whose
  // R3 is the outermost region.
  int64_t Slots() const { return PartsOf(&NestShape::IsSlot); }
  bool IsSlot(int n) const;
  // The levels of these parts that have several, in the lexicographic order of their points.
  std::vector<int> SlotPlaces() const;
  bool IsSharedReduction(int n) const;
  bool IsShuffled(int n) const;
  // Threads of a block that combine their results in shared memory, and by shuffles.
  int64_t SharedReductionThreads() const { return PartsOf(&NestShape::IsSharedReduction); }
  int64_t ShuffledThreads() const { return PartsOf(&NestShape::IsShuffled); }
  // How many of a thread's results are exchanged through shared memory at once: a divisor of
  // AccumulatorElements().
  int64_t ExchangedResults() const;
  // Bytes of shared memory of a block: copies in all stages, accumulators, reductions over threads,
  // results that it shows to the blocks of its cluster, or at most a result of every thread of the
  // block that combines those of others.
  int64_t SharedBytes() const;

 private:
  // Product of the parts of the levels that have it.
  int64_t PartsOf(bool (NestShape::*has)(int n) const) const;
  bool is_explicit() const { return model_->memory == MemoryKind::kExplicit; }

  const Expression* expression_;
  const SystemModel* model_;
  const TuningParameters* parameters_;
  int shared_region_;
  std::vector<Level> levels_;
};

}  // namespace mdh

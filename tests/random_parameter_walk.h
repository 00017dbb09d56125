// A walk from a plain decomposition: random changes, of which those that leave it valid are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "tests/random_expression.h"

namespace mdh {

class ParameterWalk {
 public:
  // All of them outlive the walk.
  ParameterWalk(Rng& rng, const Expression& expression, const SystemModel& model,
                const DeviceDescription& device);

  // nullopt if not even the plainest decomposition is valid. To be called once.
  std::optional<TuningParameters> Run(NumericsPolicy numerics);

 private:
  // The numbers below it.
  static std::vector<int> Identity(size_t count);
  bool OneIn(int64_t n) { return Below(rng_, n) == 0; }
  bool IsValid(const TuningParameters& p) const;
  // Makes the change if the result is valid.
  bool Try(const std::function<void(TuningParameters&)>& change);
  // One of several random changes, unless all are invalid.
  void TrySome(int tries, const std::function<void(TuningParameters&)>& change);

  // ---- Tiles ----

  bool Start(NumericsPolicy numerics);
  void KeepResultsInRegisters();
  // Policies that keep the order of values are rarely valid with results in device memory.
  void ChooseResults();
  // Extents of parts from part counts, the innermost layer's first; `rest` is the layer that takes
  // what is left.
  void SetTiles(TuningParameters* p, int d, const std::vector<int64_t>& parts, int rest) const;
  void ChooseTiles(int d, bool plainly);
  // Points of the result in blocks, the others in the loops of the outermost memory layer; parts of
  // the cores as the policy says.
  void PlainTiles(int d);

  // ---- Reductions that threads or blocks share: random_shared_reductions.cc ----

  // Threads along a reduced dimension, which combine in device memory, shared memory or by
  // shuffles: chance alone finds these rarely.
  void ShareReduction(TuningParameters& p);
  // Neighbouring threads of whole warps along a reduced dimension, which combine by shuffles.
  void ShuffleReduction(TuningParameters& p);
  // Blocks that combine so; if need be, there are more of them along a reduced dimension.
  void CombineInBlocks(TuningParameters& p, CombineBlocks how);
  // Blocks outside of threads, these outside of loops, around which results are in registers;
  // blocks along reductions have axes of their own, and are few where they are clusters.
  void Cooperate(TuningParameters& p);

  // ---- Orders and assignments ----

  LevelTable<AsmLevel> PlainAssignment(const std::vector<MdhLevel>& order) const;
  std::vector<MdhLevel> RandomOrder();
  void ChooseOrders();
  LevelTable<AsmLevel> RandomAssignment(LevelTable<AsmLevel> assignment);
  void ChooseAssignment();

  // ---- Memory: random_memory.cc ----

  // Any place, or one right inside of a loop: there, copies can be double-buffered.
  size_t RandomPlace();
  // Regions that get faster, going inwards: each begins at a random place, or nowhere.
  LevelTable<int> RandomRegions();
  // A layout of its own for every region but the outermost.
  LevelTable<std::vector<int>> RandomLayouts(const LevelTable<int>& regions, size_t rank);
  void ChooseMemory();
  void ChooseCopy(size_t b);
  // With a width, padding and layout that asynchronous copies may have.
  void MakeAsynchronous(TuningParameters& p, size_t b);

  // ---- Code ----

  void ChooseCode();
  // Blocks along all dimensions that results are kept along: chance alone rarely gives the grid
  // several rows.
  void SwizzleBlocks(TuningParameters& p);
  // Tiles of lanes that divide the threads of a block.
  void ArrangeLanes(TuningParameters& p);
  ScalarMemory RandomScalar(const Buffer& buffer);

  // ---- Phases ----

  void ChoosePhases();
  PhaseParameters RandomPhase();

  int64_t size(int d) const { return e_.dimensions()[d].size; }

  const std::vector<int64_t> kParts = {2, 2, 2, 3, 4, 4, 5, 7, 8, 16, 32};

  Rng& rng_;
  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const int layers_, regions_;
  TuningParameters p_;
};

}  // namespace mdh

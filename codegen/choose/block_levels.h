// Table 1 of a configuration for blocks of threads, level by level: what rules and designs have in
// common.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Expects a model with layers of blocks and threads. To be called in the order of the functions.
class BlockLevels {
 public:
  struct LayerParts {
    int layer;
    int64_t parts;
  };

  BlockLevels(const Expression& expression, const SystemModel& model, NumericsPolicy numerics);

  // Layers; `warps` may be -1. The loops of `outer` are around the threads or inside of them, those
  // of `inner` are the first that are always inside.
  int layers() const { return layers_; }
  int blocks() const { return blocks_; }
  int warps() const { return warps_; }
  int threads() const { return threads_; }
  int outer() const { return outer_; }
  int inner() const { return inner_; }
  // Regions of the innermost layers.
  int registers() const { return registers_; }
  int shared() const { return registers_ - 1; }

  // 0: parts of dimension d inside of a block, one on other layers; gives the points of all of
  // them.
  int64_t Cut(int d, std::initializer_list<LayerParts> parts);
  // Then the points of a block. What parts inside do not cover is a loop of `outer`.
  void CutBlocks(int d, int64_t points);
  // As few points, a multiple of `inside`, that `blocks` blocks have all of dimension d.
  int64_t ShareOf(int d, int64_t blocks, int64_t inside) const;

  // D1: the next levels inside, of those dimensions.
  void Add(int layer, absl::FunctionRef<bool(int d)> has);
  void Add(int layer) {
    Add(layer, [](int) { return true; });
  }
  // How many levels there are in the order.
  int place() const { return static_cast<int>(parameters_.phase.order.size()); }

  // D2: dimensions along x, y, z and further. Of the grid, whose x may be longest, those with most
  // blocks first.
  void Assign(const std::vector<int>& inside, std::vector<int> grid);

  // R3: threads along reductions combine in shared memory, or those along d by shuffles; each keeps
  // its results in registers, but for those around which the loops of `outer` along d run.
  void SetResults(absl::FunctionRef<bool(int d)> shuffles, absl::FunctionRef<bool(int d)> stores);

  // D3 of a copy that is made in front of that place in the order.
  LevelTable<int> RegionsFrom(int place, int region) const;

  TuningParameters& parameters() { return parameters_; }
  const TuningParameters& parameters() const { return parameters_; }

 private:
  int64_t size(int d) const { return expression_.dimensions()[d].size; }
  // The first memory layer from there inwards.
  int LoopLayer(int layer) const;

  const Expression& expression_;
  const SystemModel& model_;
  const int layers_, blocks_, warps_, threads_, outer_, inner_, registers_;
  TuningParameters parameters_;
};

}  // namespace mdh

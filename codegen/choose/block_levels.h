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
struct BlockLevels {
  struct LayerParts {
    int layer;
    int64_t parts;
  };

  BlockLevels(const Expression& e, const SystemModel& m, NumericsPolicy numerics);

  const Expression& expression;
  const SystemModel& model;
  // Layers; `warps` may be -1. The loops of `outer` are around the threads or inside of them, those
  // of `inner` are the first that are always inside.
  const int layers, blocks, warps, threads, outer, inner;
  const int registers, shared;  // regions of the innermost layers

  // 0: parts of dimension d inside of a block, one on other layers; gives the points of all of
  // them.
  int64_t Cut(int d, std::initializer_list<LayerParts> parts);
  // Then the points of a block. What parts inside do not cover is a loop of `outer`.
  void CutBlocks(int d, int64_t points);
  // As few points, a multiple of `inside`, that so many blocks have all of dimension d.
  int64_t ShareOf(int d, int64_t count, int64_t inside) const;

  // D1: the next levels inside, of those dimensions.
  void Add(int layer, absl::FunctionRef<bool(int d)> has);
  void Add(int layer) {
    Add(layer, [](int) { return true; });
  }
  // How many levels there are in the order.
  int place() const { return static_cast<int>(parameters.phase.order.size()); }

  // D2: dimensions along x, y, z and further. Of the grid, whose x may be longest, those with most
  // blocks first; `in_order`: rather as given, if x need not be longest.
  void Assign(const std::vector<int>& inside, std::vector<int> grid, bool in_order = false);

  // R3: threads along reductions combine in shared memory, or those along d by shuffles; each keeps
  // its results in registers, but for those around which the loops of `outer` along d run.
  void SetResults(absl::FunctionRef<bool(int d)> shuffles, absl::FunctionRef<bool(int d)> stores);

  // D3 of a copy that is made in front of that place in the order.
  LevelTable<int> RegionsFrom(int place, int region) const;

  TuningParameters parameters;

  int64_t size(int d) const { return expression.dimensions()[d].size; }
};

}  // namespace mdh

// The ranges that a configuration is in by itself, as the judge of those of spaces.
#pragma once

#include <optional>

#include "codegen/bounds/design_bound.h"
#include "codegen/program/lane_decision.h"
#include "core/decomposition/constraints.h"

namespace mdh {

// Of one configuration; nullopt where floors know nothing of its kind: matrix units, prefix sums,
// keys, phases of their own, levels that belong to other layers. `expression`: whose dimensions are
// fused. Inputs are not said to be apart.
inline std::optional<DesignRanges> RangesOf(const TuningParameters& parameters,
                                            const SystemModel& model,
                                            const Expression& expression) {
  const int rank = expression.rank();
  const bool is_special =
      parameters.unit.rows > 0 || parameters.scan.threads > 0 || parameters.keyed.threads > 0;
  if (is_special || !HasFusedPhases(parameters) || model.layers.empty()) return std::nullopt;
  if (model.layers.front().role != LayerRole::kCores) return std::nullopt;
  const LevelTable<AsmLevel>& assignment = parameters.phase.assignment;
  for (size_t l = 0; l < assignment.size(); ++l) {
    for (const AsmLevel& level : assignment[l]) {
      if (level.layer != static_cast<int>(l)) return std::nullopt;
    }
  }
  const auto extents = [&](int layer) {
    ExtentRanges ranges;
    for (int d = 0; d < rank; ++d) {
      ranges.push_back({parameters.tile[layer][d], parameters.tile[layer][d]});
    }
    return ranges;
  };
  DesignRanges ranges;
  ranges.part = extents(0);
  ranges.most_threads = parameters.threads;
  if (const int threads = ThreadLayer(model); threads > 0) {
    ranges.around_threads = extents(threads - 1);
    ranges.thread = extents(threads);
  }
  ranges.may_be_scalar = HasScalarTiles(expression, model, parameters);
  const int lanes = model.LayerWith(LayerRole::kLanes) - 1;
  if (lanes < 0 || parameters.lowering != Lowering::kTiles || parameters.dot != 0) return ranges;
  for (int d = 0; d < rank; ++d) {
    if (parameters.tile[lanes][d] == 1) continue;
    ranges.vectors_along = DimensionSet{1} << d;
    ranges.most_lanes = parameters.tile[lanes][d];
  }
  // Register tiles with vectors; nothing is said to be apart along these.
  const int innermost = InnermostMemoryLayer(model);
  if (ranges.vectors_along == 0 || innermost == 0) return ranges;
  ranges.apart.assign(expression.inputs().size(), 0);
  ranges.least_lanes = ranges.most_lanes;
  ranges.tile = extents(innermost);
  ranges.around_tile = extents(innermost - 1);
  ranges.reduces_in_tile = parameters.accumulate_in == AccumulateIn::kRegisters;
  ranges.never_grows = parameters.compiler == Compiler::kGcc;
  return ranges;
}

}  // namespace mdh

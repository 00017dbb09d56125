// What configurations are as far as it has an effect: what schedules speak of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/decomposition/nest_shape.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/limit.h"

namespace mdh {

class ScheduleFacts : public LimitValues {
 public:
  // A level of cores with several parts.
  struct Core {
    MdhLevel level;
    int axis;  // how many other ones of its layer run along earlier axes
    int64_t lanes;
    int region;  // where memory is explicit: results of its parts are combined there
  };
  struct Copy {
    int around;  // loops outside of it
    int region;
    std::vector<int> layout;
  };

  // `divided`: the expression whose dimensions are fused as the parameters say. Refers to its
  // arguments. Expects parameters that are valid for it.
  ScheduleFacts(const Expression& divided, const SystemModel& model,
                const TuningParameters& parameters);

  // Loops with several parts, the outermost first; and where memory is explicit the region of the
  // results in each.
  const std::vector<MdhLevel>& loops() const { return loops_; }
  const std::vector<int>& loop_regions() const { return loop_regions_; }
  const std::vector<Core>& cores() const { return cores_; }
  // Of an input; where memory is explicit.
  const std::vector<Copy>& copies(int buffer) const { return copies_[buffer]; }
  bool accumulates_in_shared() const { return accumulates_in_shared_; }
  // Whether a level with several parts belongs to another layer than its own (D2 of Table 1), which
  // schedules do not speak of.
  bool has_exchanged_layers() const { return has_exchanged_layers_; }

  // -1: it has one part.
  int LoopOf(MdhLevel level) const;
  const Core* CoreAt(MdhLevel level) const;
  // Whether one level is outside of the other; nullopt where that has no meaning: one of them has
  // one part, or not both are loops or cores of one layer.
  std::optional<bool> IsOutside(MdhLevel level, MdhLevel other) const;

  int64_t Tile(int layer, int dimension) const override {
    return parameters_.tile[layer][dimension];
  }
  int64_t Outer(int layer, int dimension) const {
    return layer == 0 ? divided_.dimensions()[dimension].size : Tile(layer - 1, dimension);
  }
  int64_t Parts(int layer, int dimension) const override;
  int64_t Bytes(int buffer, bool is_output, int layer) const override;
  int64_t Threads() const override;
  int64_t Registers() const override { return registers_; }
  const TuningParameters& parameters() const { return parameters_; }

 private:
  void AddLevels(const NestShape& nest);
  void AddCopies(const NestShape& nest);
  int64_t WordsOfTile() const;

  const Expression& divided_;
  const SystemModel& model_;
  const TuningParameters& parameters_;
  std::vector<MdhLevel> loops_;
  std::vector<int> loop_regions_;
  std::vector<Core> cores_;
  std::vector<std::vector<Copy>> copies_;
  bool accumulates_in_shared_ = false;
  bool has_exchanged_layers_ = false;
  int64_t registers_ = 0;
};

}  // namespace mdh

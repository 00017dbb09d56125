// A search among designs for devices with blocks of threads: where tuning starts before it searches
// the whole space.
#pragma once

#include <optional>
#include <vector>

#include "codegen/choose/block_candidates.h"
#include "codegen/choose/block_moves.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/schedule.h"
#include "tuner/run/step_search.h"

namespace mdh {

// StepSearch of what the cost model of blocks ranks. Refers to its arguments.
class DesignSearch {
 public:
  // Under a schedule, only those that are in it; after many that are not, it is done.
  DesignSearch(const Expression& expression, const SystemModel& model,
               const DeviceDescription& device, const Schedule* schedule = nullptr);
  DesignSearch(const DesignSearch&) = delete;
  DesignSearch& operator=(const DesignSearch&) = delete;

  // As those of StepSearch.
  std::optional<BlockCandidate> Ask();
  void Tell(const BlockDesign& design, std::optional<double> cost) { steps_.Tell(design, cost); }
  void TellRepeated() { steps_.TellRepeated(); }
  bool is_done() const { return steps_.is_done(); }
  std::optional<double> best() const { return steps_.best(); }
  // What the model expects of the best one, in cycles.
  std::optional<double> expected() const {
    return ranked_.empty() ? std::nullopt
                           : std::optional<double>(costs_.Estimate(ranked_.front()).total);
  }

 private:
  DesignKnowledge<BlockDesign> Knowledge() const;

  const Expression& expression_;
  const SystemModel& model_;
  const DeviceDescription& device_;
  const Schedule* const schedule_;
  const BlockCostModel costs_;
  const BlockMoves moves_;
  const std::vector<BlockDesign> ranked_;
  StepSearch<BlockDesign> steps_;
};

}  // namespace mdh

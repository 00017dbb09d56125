// A search among configurations of matrix units (codegen/choose/unit_variants.h), beside that among
// designs for threads that compute themselves.
#pragma once

#include <optional>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/decomposition/unit_plan.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/schedule.h"
#include "tuner/run/step_search.h"

namespace mdh {

// StepSearch of what UnitVariants ranks, done at once where the device has no unit for the
// expression. Refers to its arguments but `parameters`.
class UnitSearch {
 public:
  // `parameters`: valid ones, from which it has all that units do not decide. Under a schedule,
  // only configurations that are in it.
  UnitSearch(const Expression& expression, const SystemModel& model,
             const DeviceDescription& device, const TuningParameters& parameters,
             const Schedule* schedule = nullptr);
  UnitSearch(const UnitSearch&) = delete;
  UnitSearch& operator=(const UnitSearch&) = delete;

  // As those of StepSearch.
  std::optional<TuningParameters> Ask() { return steps_.Ask(); }
  void Tell(const TuningParameters& parameters, std::optional<double> cost) {
    steps_.Tell(parameters, cost);
  }
  void TellRepeated() { steps_.TellRepeated(); }
  void Learn(const TuningParameters& parameters, double cost) { steps_.Learn(parameters, cost); }
  bool is_done() const { return steps_.is_done(); }
  std::optional<double> best() const { return steps_.best(); }
  // What the model expects of the best one, in cycles.
  std::optional<double> expected() const {
    return ranked_.empty() ? std::nullopt : Expected(ranked_.front());
  }

 private:
  std::optional<double> Expected(const TuningParameters& parameters) const;
  DesignKnowledge<TuningParameters> Knowledge() const;

  const Expression& expression_;
  const SystemModel& model_;
  const DeviceDescription& device_;
  const Schedule* const schedule_;
  const Result<UnitPlan> plan_;  // that nothing has cut
  const std::vector<TuningParameters> ranked_;
  StepSearch<TuningParameters> steps_;
};

}  // namespace mdh

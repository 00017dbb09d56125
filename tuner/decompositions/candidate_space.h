// A space of decompositions as people decide in it: by names, with what these mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"
#include "core/schedule/schedule.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/decompositions/parameter_meaning.h"
#include "tuner/space/named_decision.h"
#include "tuner/space/partial_configuration.h"

namespace mdh {

// A configuration of a partial one.
struct FinishedCandidate {
  Configuration configuration;
  int changed = 0;  // parameters that have other values than what it is near to
};

// Immutable, thread-safe.
class CandidateSpace {
 public:
  // The space that a search under the schedule has. Errors: those of MdhSpace::Create.
  static Result<CandidateSpace> Create(const Expression& expression,
                                       const DeviceDescription& device, NumericsPolicy numerics,
                                       std::optional<Schedule> schedule = std::nullopt);

  const MdhSpace& space() const { return space_; }
  // By parameter.
  const std::vector<ParameterMeaning>& meanings() const { return meanings_; }
  // Nothing is decided.
  const PartialConfiguration& open() const { return open_; }

  // Errors: those of ReadDecisions and PartialConfiguration::With.
  Result<PartialConfiguration> With(absl::Span<const NamedDecision> decisions) const;
  // As restrictions have it.
  std::string ValueText(int parameter, int64_t code) const;
  // A schedule that all configurations of `partial` keep to; comments where schedules cannot say
  // what was decided. Of one configuration, all that it is.
  std::string ScheduleOf(const PartialConfiguration& partial) const;

  // The configuration of `partial` that is nearest to parameters, which need not be valid, nor for
  // these `sizes`. Errors: FailedPrecondition if it is not in the schedule.
  Result<FinishedCandidate> Near(const PartialConfiguration& partial,
                                 const TuningParameters& parameters,
                                 absl::Span<const int64_t> sizes = {}) const;
  // Nearest to one of those from rules: to that which needs the fewest changes.
  Result<FinishedCandidate> ByRules(const PartialConfiguration& partial) const;
  // Errors: FailedPrecondition if none of many samples is in the schedule.
  Result<FinishedCandidate> Sample(const PartialConfiguration& partial, uint64_t seed) const;

 private:
  CandidateSpace(MdhSpace space, std::optional<Schedule> schedule, Expression expression,
                 SystemModel model, std::vector<TuningParameters> starts);
  Status Allows(const Configuration& configuration) const;

  MdhSpace space_;
  std::optional<Schedule> schedule_;
  Expression expression_;
  SystemModel model_;
  std::vector<TuningParameters> starts_;
  std::vector<ParameterMeaning> meanings_;
  std::vector<ValueNames> names_;  // by parameter
  PartialConfiguration open_;
};

}  // namespace mdh

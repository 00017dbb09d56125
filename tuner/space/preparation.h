// From parameters and constraints to the plan of a search space's levels.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/space/levels/expansion.h"
#include "tuner/space/levels/level_plan.h"
#include "tuner/space/search_space.h"

namespace mdh {

struct Preparation {
  SpacePlan plan;
  std::vector<int> parameter_of_level;
  std::vector<std::string> notices;
};

// Errors: InvalidArgument, as of SearchSpace::Create.
Status CheckInput(const std::vector<TuningParameter>& parameters,
                  const std::vector<Constraint>& constraints);

// Errors: as SearchSpace::Create, but FailedPrecondition only where constraints on no or one
// parameter leave nothing.
Result<Preparation> Prepare(const std::vector<TuningParameter>& parameters,
                            const std::vector<Constraint>& constraints, ParameterOrder order);

// How messages call a constraint.
std::string TextOf(const Constraint& constraint);

// "a=1, b=2" of a constraint's parameters.
std::string ValuesOf(const Constraint& constraint, const std::vector<TuningParameter>& parameters,
                     absl::Span<const int64_t> configuration);

// The notice of a division by zero, and the error for an overflow.
std::string DivisionByZeroNotice(const Constraint& constraint, const std::string& values);
Status OverflowError(const Constraint& constraint, const std::string& values);

}  // namespace mdh

// Random configurations that code is judged with, and what of the lowering they exercise.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "tests/random_expression.h"

namespace mdh {

NumericsPolicy RandomNumerics(Rng& rng);

struct PairChoices {
  bool is_of_space = false;  // a sample of the search space, to which a walk may never come
  bool fuses_dimensions = false;
};

// nullopt if there is no valid configuration. Errors: why there is no search space, with everything
// to reproduce it.
Result<std::optional<TuningParameters>> RandomPairParameters(Rng& rng, const Expression& expression,
                                                             const SystemModel& model,
                                                             const DeviceDescription& device,
                                                             NumericsPolicy numerics,
                                                             const PairChoices& choices);

// What of the lowering is exercised.
std::set<std::string> FeaturesOf(const Expression& separate, const SystemModel& model,
                                 const TuningParameters& p);

}  // namespace mdh

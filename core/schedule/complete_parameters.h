// The configuration that a schedule says completely, as printed ones of found parameters do: it
// need not be in a search space.
#pragma once

#include <optional>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/schedule/schedule.h"

namespace mdh {

// nullopt: the schedule leaves something open, or no such configuration is valid on the device; or
// copies in several regions are made in front of one loop, which only search spaces have.
std::optional<TuningParameters> CompleteParameters(
    const Schedule& schedule, const DeviceDescription& device,
    NumericsPolicy numerics = NumericsPolicy::kReassociate);

// Those that a schedule says completely, valid or not: one for each place that threads can have
// among the loops, which is not said. `divided`: the expression as the schedule fuses it.
std::vector<TuningParameters> SaidParameters(const Schedule& schedule, const Expression& divided,
                                             NumericsPolicy numerics);

}  // namespace mdh

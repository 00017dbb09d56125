// What a configuration is, said as decisions of a schedule.
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/schedule/decision.h"
#include "core/schedule/names.h"

namespace mdh {

// Of what has an effect, as few as say it completely. `names`: of the expression whose dimensions
// are fused as the parameters say.
std::vector<Decision> AsDecisions(const TuningParameters& parameters, const ScheduleNames& names);

}  // namespace mdh

// What a configuration is, said as decisions of a schedule.
#pragma once

#include <string>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/schedule/decision.h"
#include "core/schedule/names.h"

namespace mdh {

// Of what has an effect, as few as say it completely. `names`: of the expression whose dimensions
// are fused as the parameters say.
std::vector<Decision> AsDecisions(const TuningParameters& parameters, const ScheduleNames& names);

// The same as the text of a schedule, without a blank line; empty for parameters whose phases are
// set apart, which schedules do not speak of. `divided`: as the expression of `names`.
std::string ScheduleText(const TuningParameters& parameters, const Expression& divided,
                         const SystemModel& model);

}  // namespace mdh

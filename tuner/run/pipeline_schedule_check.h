// What a schedule of a pipeline leaves to the search.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/expression/numerics.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "tuner/decompositions/schedule_check.h"

namespace mdh {

// Counted is what a search can come across: of each partition of its plan, and of each of the
// groups that it tries or the schedule names, the configurations of the steps that are searched. A
// conflict is of lines about what is fused, of a line about steps that run together, or of lines of
// one step. `most_ms`: for conflicts; nullopt: nobody asks for them. Errors: those of spaces of
// steps.
Result<ScheduleCheck> CheckSchedule(const DeviceDescription& device,
                                    const PipelineSchedule& schedule,
                                    NumericsPolicy numerics = NumericsPolicy::kReassociate,
                                    std::optional<int64_t> most_ms = 2000);

}  // namespace mdh

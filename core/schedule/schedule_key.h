// Schedules in keys. Keys know nothing of names: dimensions are d1, d2, .., inputs in1, .., outputs
// out1, .., in their order, so that a schedule of the same computation has one text.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/schedule.h"

namespace mdh {

// Empty: the schedule is free.
std::string KeyScheduleOf(const Schedule& schedule);

// The schedule of a key for an expression with names. Errors: InvalidArgument if it cannot be read.
Result<Schedule> ScheduleOfKey(std::string_view key_schedule, const Expression& expression,
                               const SystemModel& model);

}  // namespace mdh

// What a client may ask of schedules, checked.
#pragma once

#include <string>
#include <variant>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/pipeline/computation.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/schedule.h"
#include "mdh/v1/tuning.pb.h"
#include "proto/expression_conversion.h"
#include "server/devices/device_catalogue.h"

namespace mdh {

// A schedule of what it is asked for.
using AnySchedule = std::variant<Schedule, PipelineSchedule>;
// Errors: InvalidArgument, with the position in it, or if it is longer than 64 KiB.
Result<AnySchedule> ReadSchedule(const std::string& text, const ComputationView& computation,
                                 const DeviceDescription& device);

// What keys have of a schedule, in the names of an expression or pipeline, for the device; empty:
// it is free. Errors: InvalidArgument for the field "schedule", with the position in it.
Result<std::string> KeyScheduleOf(const std::string& text, const ComputationView& computation,
                                  const DeviceDescription& device);

// Makes the schedule of `options` the canonical one, in the expression's names, and gives that of
// keys; both are empty if it is free. Errors: InvalidArgument for the field "schedule", with the
// position in it, and for one that leaves nothing to search, with the lines that contradict each
// other.
Result<std::string> TakeSchedule(const ComputationView& computation,
                                 const DeviceDescription& device, v1::TuningOptions& options);

// The answer of CheckSchedule.
Result<v1::CheckScheduleResponse> AnswerCheckSchedule(const v1::CheckScheduleRequest& request,
                                                      const ExpressionLimits& limits,
                                                      const DeviceCatalogue& catalogue);

}  // namespace mdh

// What a client may ask of schedules, checked.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/expression/numerics.h"
#include "core/pipeline/computation.h"
#include "core/schedule/schedule.h"
#include "mdh/v1/tuning.pb.h"
#include "proto/expression_conversion.h"
#include "server/devices/device_catalogue.h"

namespace mdh {

// A schedule of an expression on a device, as several requests have them.
struct AskedSchedule {
  Expression expression;
  DeviceDescription device;
  NumericsPolicy numerics;
  Schedule schedule;
};

// Errors: InvalidArgument for each
// of these fields, with the position in the schedule, and for pipelines; NotFound for unknown
// devices.
Result<AskedSchedule> ReadAskedSchedule(const v1::ExpressionSource& expression,
                                        const v1::DeviceSelection& device,
                                        v1::NumericsPolicy numerics, const std::string& schedule,
                                        const ExpressionLimits& limits,
                                        const DeviceCatalogue& catalogue);

// What keys have of a schedule, in the expression's names, for the device; empty: it is free.
// Errors: InvalidArgument for the field "schedule": with the position in it, and for schedules of
// pipelines.
Result<std::string> KeyScheduleOf(const std::string& text, const ComputationView& computation,
                                  const DeviceDescription& device);

// Makes the schedule of `options` the canonical one, in the expression's names, and gives that of
// keys; both are empty if it is free. Errors: InvalidArgument for the field "schedule", with the
// position in it; for one that leaves nothing to search, with the lines that contradict each other;
// and for schedules of pipelines.
Result<std::string> TakeSchedule(const ComputationView& computation,
                                 const DeviceDescription& device, v1::TuningOptions& options);

// Errors: InvalidArgument for the field "restrictions": names and values that there are not, and
// decisions of pipelines; FailedPrecondition if nothing remains. Expects what TakeSchedule gave.
Status CheckRestrictions(const ComputationView& computation, const DeviceDescription& device,
                         const v1::TuningOptions& options);

// The answer of CheckSchedule.
Result<v1::CheckScheduleResponse> AnswerCheckSchedule(const v1::CheckScheduleRequest& request,
                                                      const ExpressionLimits& limits,
                                                      const DeviceCatalogue& catalogue);

}  // namespace mdh

// What a client may ask of search spaces, checked.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "core/pipeline/computation.h"
#include "core/schedule/schedule.h"
#include "mdh/v1/candidate.pb.h"
#include "mdh/v1/tuning.pb.h"
#include "proto/expression_conversion.h"
#include "server/devices/device_catalogue.h"

namespace mdh {

// All of a candidate but its restrictions.
struct AskedSpace {
  Expression expression;
  DeviceDescription device;
  NumericsPolicy numerics;
  Schedule schedule;
};

// Errors: InvalidArgument for each of its fields, with the position in the schedule, and for
// pipelines; NotFound for unknown devices.
Result<AskedSpace> ReadAskedSpace(const v1::Candidate& candidate, const ExpressionLimits& limits,
                                  const DeviceCatalogue& catalogue);

// Errors: InvalidArgument for the field "restrictions": names and values that there are not, and
// decisions of pipelines; FailedPrecondition if nothing remains. Expects what TakeSchedule gave.
Status CheckRestrictions(const ComputationView& computation, const DeviceDescription& device,
                         const v1::TuningOptions& options);

}  // namespace mdh

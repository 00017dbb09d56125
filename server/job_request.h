// What a client asks of a tuning job, checked.
#pragma once

#include <string>
#include <vector>

#include "core/expression.h"
#include "core/status.h"
#include "mdh/v1/tuning.pb.h"
#include "server/device_catalogue.h"
#include "server/job.h"

namespace mdh {

// Priorities are between -kMaxPriority and kMaxPriority.
inline constexpr int kMaxPriority = 10;

struct JobRequest {
  v1::TuningOptions options;
  std::vector<std::string> devices = {};
  bool force = false;
  std::string request_id = "";
  int priority = 0;
  std::string source = "";  // whom the job is counted for
};

// With defaults filled in. Errors: InvalidArgument or NotFound, with a BadRequest for the field.
Result<CreateJob> CheckJobRequest(Expression expression, JobRequest request,
                                  const DeviceCatalogue& catalogue);

}  // namespace mdh

// What a client asks of a tuning job, checked.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/computation.h"
#include "mdh/v1/tuning.pb.h"
#include "server/access/role_limits.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job.h"

namespace mdh {

// Priorities are between -kMaxPriority and kMaxPriority.
inline constexpr int kMaxPriority = 10;

// Who asks.
struct Requester {
  std::string source = "";  // whom jobs are counted for
  RoleLimits limits = {};
};

struct JobRequest {
  v1::TuningOptions options;
  std::vector<std::string> devices = {};
  bool force = false;
  std::string request_id = "";
  int priority = 0;
  Requester requester = {};
};

// With defaults filled in. Errors: InvalidArgument or NotFound, with a BadRequest for the field;
// ResourceExhausted if the limits do not allow the device time.
Result<CreateJob> CheckJobRequest(Computation computation, JobRequest request,
                                  const DeviceCatalogue& catalogue);

}  // namespace mdh

#include "client/retry_policy.h"

namespace mdh {

std::string RetryServiceConfig() {
  return R"json({
    "methodConfig": [{
      "name": [
        {"service": "mdh.v1.KernelService", "method": "LookupKernel"},
        {"service": "mdh.v1.KernelService", "method": "BatchLookupKernels"},
        {"service": "mdh.v1.TuningService", "method": "GetTuningJob"},
        {"service": "mdh.v1.TuningService", "method": "ListTuningJobs"},
        {"service": "mdh.v1.TuningService", "method": "ListTuningTrials"},
        {"service": "mdh.v1.StudyService", "method": "GetStudy"},
        {"service": "mdh.v1.StudyService", "method": "ListStudies"},
        {"service": "mdh.v1.StudyService", "method": "ListTrials"}
      ],
      "retryPolicy": {
        "maxAttempts": 5,
        "initialBackoff": "0.05s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]
      }
    }]
  })json";
}

}  // namespace mdh

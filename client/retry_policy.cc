#include "client/retry_policy.h"

namespace mdh {

std::string RetryServiceConfig() {
  return R"json({
    "methodConfig": [{
      "name": [
        {"service": "mdh.v1.KernelService", "method": "LookupKernel"},
        {"service": "mdh.v1.KernelService", "method": "BatchLookupKernels"},
        {"service": "mdh.v1.KernelService", "method": "GetKernel"},
        {"service": "mdh.v1.TuningService", "method": "CreateTuningJob"},
        {"service": "mdh.v1.TuningService", "method": "GetTuningJob"},
        {"service": "mdh.v1.TuningService", "method": "ListTuningJobs"},
        {"service": "mdh.v1.TuningService", "method": "ListTuningTrials"},
        {"service": "mdh.v1.TuningService", "method": "CheckSchedule"},
        {"service": "mdh.v1.CandidateService", "method": "DescribeCandidate"},
        {"service": "mdh.v1.CandidateService", "method": "FinishCandidate"},
        {"service": "mdh.v1.DeviceService", "method": "ListDevices"},
        {"service": "mdh.v1.DeviceService", "method": "GetDevice"},
        {"service": "mdh.v1.DeviceService", "method": "ListKnownDevices"},
        {"service": "mdh.v1.AdminService", "method": "GetCapabilities"},
        {"service": "mdh.v1.AdminService", "method": "GetStatistics"},
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

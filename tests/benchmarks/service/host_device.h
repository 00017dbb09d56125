// The device as a daemon on this machine has it in its keys.
#pragma once

#include <memory>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "tests/benchmarks/service/service_cases.h"
#include "tuner/measure/runner.h"

namespace mdh {

inline Result<DeviceDescription> HostDevice(const ServiceCaseOptions& options) {
  const RunnerOptions start = {.program = options.programs + "/mdh-runner",
                               .work_directory = options.directory + "/runner",
                               .threads = 0,
                               .path = {}};
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Runner> runner, Runner::Start(start));
  return runner->device();
}

}  // namespace mdh

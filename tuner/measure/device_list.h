// What mdh-runner --list does.
#pragma once

#include "core/base/status.h"
#include "tuner/measure/runner_process.h"

namespace mdh {

// Looks for all devices, each kind in a process of its own, and sends a RunnerDeviceList over the
// socket, or prints one line for each device and each kind that is missing if there is no socket.
// Errors: FailedPrecondition if this machine's CPU cannot be described; Unavailable if nobody wants
// the answer.
Status ListDevices(const RunnerProcessOptions& options);

}  // namespace mdh

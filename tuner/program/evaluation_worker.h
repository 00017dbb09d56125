// The process that evaluates: what a candidate does to it harms nobody else.
#pragma once

#include <string>

#include "core/base/status.h"
#include "tuner/program/kernel_evaluator.h"

namespace mdh {

struct WorkerOptions {
  int socket = -1;     // to the process that asks (tuner/process/message_stream.h)
  std::string folder;  // for files of trials; removed if the process that asks is gone
  KernelDevices devices;
};

// Answers every EvaluateRequest from the socket with an EvaluateResponse; the first has the
// program. Ends the process when the other side is gone, when a kernel left the device unusable,
// and, after its answer, when a kernel takes longer than its limit. Standard error goes nowhere
// from then on: drivers print what they like. Returns only errors: Internal if the stream is
// broken.
Status ServeEvaluations(const WorkerOptions& options);

}  // namespace mdh

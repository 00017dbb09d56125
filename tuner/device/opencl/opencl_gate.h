// What keeps a queue from starting commands until there are many of them. A kernel of 2 us is
// enqueued in 5 us: without a gate, the host's time would be measured instead of the kernel's.
#pragma once

#include <cstdint>

#include "tuner/device/opencl/opencl_device.h"

namespace mdh {

// A kernel of one work-item that only computes, in front of the commands to be timed. Refers to its
// argument.
class OpenClGate {
 public:
  explicit OpenClGate(const OpenClContext& context) : context_(context) {}
  ~OpenClGate();
  OpenClGate(const OpenClGate&) = delete;
  OpenClGate& operator=(const OpenClGate&) = delete;

  // Enqueues it, to stay closed for about `time_ns`; the first call builds the kernel. Errors:
  // Internal, naming the call.
  Status Close(double time_ns);

  // How long it was closed, in ns, on the device's clock. The queue must have finished what came
  // after Close. Later gates are as long as is wanted, by what this one took. Errors: Internal.
  Result<double> ClosedTime();

 private:
  Status Build();
  void ReleaseEvent();

  const OpenClContext& context_;
  void* program_ = nullptr;
  void* kernel_ = nullptr;
  void* memory_ = nullptr;
  void* event_ = nullptr;
  uint32_t rounds_ = 0;          // of the latest gate
  double time_of_round_ns_ = 5;  // a GPU's few dependent operations; measured by every gate
};

}  // namespace mdh

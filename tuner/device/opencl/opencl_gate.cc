#include "tuner/device/opencl/opencl_gate.h"

#include <algorithm>
#include <cstddef>

#include "tuner/device/opencl/opencl_function.h"

namespace mdh {
namespace {

// Every round needs the one before, and no compiler knows the outcome.
constexpr char kSource[] = R"(__kernel void mdh_gate(__global uint* state, uint rounds) {
  uint x = state[0];
  for (uint n = 0; n < rounds; ++n) {
    x = x * 1664525u + 1013904223u;
    x ^= x >> 7;
  }
  state[0] = x;
}
)";

constexpr double kMostRounds = 1e8;  // half a second

}  // namespace

OpenClGate::~OpenClGate() {
  const OpenClFunctions& f = context_.functions;
  ReleaseEvent();
  if (memory_ != nullptr) f.ReleaseMemObject(memory_);
  if (kernel_ != nullptr) f.ReleaseKernel(kernel_);
  if (program_ != nullptr) f.ReleaseProgram(program_);
}

void OpenClGate::ReleaseEvent() {
  if (event_ != nullptr) context_.functions.ReleaseEvent(event_);
  event_ = nullptr;
}

Status OpenClGate::Build() {
  const OpenClFunctions& f = context_.functions;
  int code = 0;
  if (program_ == nullptr) {
    MDH_ASSIGN_OR_RETURN(program_, BuildOpenClProgram(context_, kSource, ""));
  }
  if (kernel_ == nullptr) {
    kernel_ = f.CreateKernel(program_, "mdh_gate", &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl("clCreateKernel(mdh_gate)", code));
  }
  if (memory_ == nullptr) {
    memory_ =
        f.CreateBuffer(context_.context, opencl::kReadWrite, sizeof(uint32_t), nullptr, &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl("clCreateBuffer", code));
    MDH_RETURN_IF_ERROR(CheckOpenCl("clSetKernelArg(mdh_gate)",
                                    f.SetKernelArg(kernel_, 0, sizeof memory_, &memory_)));
  }
  return absl::OkStatus();
}

Status OpenClGate::Close(double time_ns) {
  MDH_RETURN_IF_ERROR(Build());
  ReleaseEvent();
  rounds_ = static_cast<uint32_t>(std::clamp(time_ns / time_of_round_ns_, 1.0, kMostRounds));
  const OpenClFunctions& f = context_.functions;
  MDH_RETURN_IF_ERROR(CheckOpenCl("clSetKernelArg(mdh_gate)",
                                  f.SetKernelArg(kernel_, 1, sizeof rounds_, &rounds_)));
  const size_t one = 1;
  return CheckOpenCl(
      "clEnqueueNDRangeKernel(mdh_gate)",
      f.EnqueueNDRangeKernel(context_.queue, kernel_, 1, nullptr, &one, &one, 0, nullptr, &event_));
}

Result<double> OpenClGate::ClosedTime() {
  if (event_ == nullptr) return Internal("the gate of the OpenCL queue was not closed");
  MDH_ASSIGN_OR_RETURN(const double time_ns, OpenClTimeBetween(context_.functions, event_, event_));
  ReleaseEvent();
  time_of_round_ns_ = std::max(time_ns / rounds_, 0.1);
  return time_ns;
}

}  // namespace mdh

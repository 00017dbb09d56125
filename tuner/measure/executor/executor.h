// The process that holds a device: its context, inputs and outputs. Runs one kernel after the
// other, and judges nothing that could be judged outside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/device/device_selector.h"
#include "tuner/measure/compile/attached_device.h"
#include "tuner/measure/executor/device_comparison.h"
#include "tuner/measure/trial/candidate_run.h"
#include "tuner/measure/trial/guarded_memory.h"
#include "tuner/process/helper_process.h"

namespace mdh {

// What kernels are run on.
struct ExecutorSetup {
  DeviceSelector selector;
  DriverOptions drivers;
  std::vector<InputBuffer> inputs;
  std::vector<OutputBuffer> outputs;
  // Of each output, if it is known: contents that are right. Read-only memory that the child
  // inherits.
  std::vector<absl::Span<const std::byte>> right_outputs = {};
  // Compares large buffers in the device's memory; where it is missing, or memory for copies, they
  // are copied.
  std::optional<CompiledKernel> equality = {};
};

// Memory that the executor writes and its parent reads.
struct ExecutorMemory {
  GuardedMemory progress;            // an ExecutorProgress
  std::vector<GuardedMemory> first;  // copies of the outputs with their zones
  std::vector<GuardedMemory> last;
};

// In the child: opens the device, copies the inputs to it, answers; then answers ExecutorRequests
// until the socket is closed or the device is lost. Gives the exit status.
int ServeExecutions(const ExecutorSetup& setup, ExecutorMemory& memory);

// The parent's side. Not thread-safe.
class Executor {
 public:
  // Errors: Internal if the driver fails, crashes or hangs, with what it says; ResourceExhausted if
  // the buffers do not fit into the device's or this machine's memory; Cancelled.
  static Result<std::unique_ptr<Executor>> Start(const ExecutorSetup& setup,
                                                 Supervisor& supervisor);

  // What a kernel did. If `failure` is there the record tells nothing more.
  struct Execution {
    RunRecord record;
    std::optional<Measurement> failure;
    Measurement details;  // without outcome and times
  };
  // Errors: Cancelled; then, and whenever it is lost, the executor cannot be used any more.
  Result<Execution> Run(const v1::ExecutorRequest& request, Supervisor& supervisor);
  // Also if it ended while it had nothing to do.
  bool is_lost() const { return is_lost_ || helper_.IsReadable(); }
  pid_t pid() const { return helper_.pid(); }

  // For Judge.
  CandidateRun AsCandidateRun(const MeasureOptions& options) const;

 private:
  Executor(ExecutorSetup setup, std::shared_ptr<ExecutorMemory> memory, HelperProcess helper)
      : setup_(std::move(setup)), memory_(std::move(memory)), helper_(std::move(helper)) {}
  Execution Lost(const Status& status, int64_t run_limit_ns);
  RunRecord MakeRecord(const v1::ExecutorResponse& response) const;

  ExecutorSetup setup_;
  std::shared_ptr<ExecutorMemory> memory_;
  HelperProcess helper_;
  bool is_lost_ = false;
};

}  // namespace mdh

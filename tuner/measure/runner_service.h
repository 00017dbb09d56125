// What a runner does with the requests of its caller.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/expression/numerics.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/measure/harness.h"
#include "tuner/measure/runner_process.h"
#include "tuner/process/runner_channel.h"

namespace mdh {

// Not thread-safe. Kernels are compiled while others are measured; those that are compiled first
// are measured first.
class RunnerService {
 public:
  RunnerService(RunnerChannel& channel, RunnerProcessOptions options);

  // Works on a request other than to submit, and answers it.
  void Answer(const v1::RunnerRequest& request);
  // Whether kernels are submitted.
  bool has_work() const { return !submitted_.empty(); }
  // Waits a moment for a kernel to be compiled, and measures it.
  void MeasureNext();

 private:
  struct Submitted {
    uint64_t request_id;
    int64_t number;
    Kernel kernel;
    MeasureOptions options;
  };

  void Submit(const v1::RunnerRequest& request);
  void StartCompilations();
  void Advance();
  Status Call(const v1::RunnerRequest& request, v1::RunnerResponse& response);
  // Before anything is started.
  Status ConfineMyself(const v1::RunnerHello& hello, DeviceKind kind);
  Status Hello(const v1::RunnerHello& hello, v1::RunnerResponse& response);
  Status SetProblem(const v1::RunnerSetProblem& request);
  Result<MachinePeaks> Peaks(bool again);
  // Measures until the machine is as fast as it has been, a few times at most; gives the fastest of
  // these measurements.
  Result<Measurement> MeasureSteadily(const Submitted& submitted);
  // How much slower the machine is now than it was at its fastest, as Measurement::drift.
  Result<double> Drift();
  // What is faster than the peaks allow contradicts them: they are measured again, and the kernel,
  // too. A time that is right twice raises them; only what no device of this description could do
  // has failed.
  Status CheckPlausible(const Submitted& submitted, Measurement& measurement);
  Result<bool> ContradictsPeaks(const Submitted& submitted, const Measurement& measurement);
  // False if they were measured a moment ago.
  Result<bool> RaisePeaks();
  void SendMeasured(const Submitted& submitted, const Measurement& measurement);
  void AnswerCancelled();
  // All that is submitted is forgotten, the caller learns why in the answer to the latest of it, or
  // else to `request_id`.
  void GiveUp(const Status& status, uint64_t request_id);

  RunnerChannel& channel_;
  const RunnerProcessOptions options_;
  std::string confinement_;  // what is in force
  std::unique_ptr<Harness> harness_;
  std::optional<MachinePeaks> peaks_;
  int64_t next_peaks_ns_ = 0;                             // when they may be measured again
  bool has_new_peaks_ = false;                            // that were not sent yet
  std::optional<Expression> expression_;                  // of the problem, if it is of one
  NumericsPolicy policy_ = NumericsPolicy::kReassociate;  // of the problem
  std::string problem_;  // the latest request's text; empty: there is no problem
  std::deque<Submitted> submitted_;
  size_t compiling_ = 0;  // the first of submitted_ are with the harness
  Status background_ = absl::OkStatus();
  // Drift.
  bool has_reference_ = false;
  double least_reference_ns_ = 0;
  int64_t next_check_ns_ = 0;
};

}  // namespace mdh

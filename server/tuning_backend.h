// The device as the job queue sees it: something that tunes, or says why it cannot.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/device_description.h"
#include "core/expression.h"
#include "core/status.h"
#include "tuner/measure/runner.h"
#include "tuner/tuning_loop.h"

namespace mdh {

// Thread-safe.
class TuningBackend {
 public:
  virtual ~TuningBackend() = default;

  virtual const DeviceDescription& device() const = 0;
  // Ok, or FailedPrecondition with the reason why this machine cannot tune.
  virtual Status CanTune() const = 0;
  // As mdh::Tune. One call at a time; others wait.
  virtual Result<TuningResult> Tune(const Expression& expression, const TuningOptions& options,
                                    const std::function<void(const TuningProgress&)>& on_trial,
                                    const std::atomic<bool>& cancelled) = 0;
  // Measured at the first call, which waits for a running Tune. Errors: what CanTune says.
  virtual Result<MachinePeaks> Peaks() = 0;
  // Makes a running Tune look at its `cancelled` soon.
  virtual void Interrupt() = 0;
};

// This machine's CPU through a runner process. If the runner cannot be started (no compiler), the
// backend describes the CPU and refuses to tune. Errors: FailedPrecondition if the CPU cannot be
// described.
Result<std::unique_ptr<TuningBackend>> StartCpuBackend(const RunnerOptions& options);

}  // namespace mdh

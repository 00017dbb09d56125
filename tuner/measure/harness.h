// The measurement harness: what a runner does on one kind of device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/pipeline/computation.h"
#include "tuner/measure/problem.h"
#include "tuner/measure/results/measurement.h"
#include "tuner/measure/runner.h"

namespace mdh {

// Of the kernel that shows how fast the machine is: few calls, and none that only checks.
inline constexpr MeasureOptions kReferenceTiming = {
    .min_repeats = 5, .target_time_ns = 5'000'000, .max_repeats = 50, .precision = 0};

// Holds a problem, compiles kernels for it, and measures one at a time. Not thread-safe; only for
// processes with a single thread. Everything that waits ends soon when its supervisor is
// interrupted.
class Harness {
 public:
  virtual ~Harness() = default;
  // With `compiler` filled in.
  virtual const DeviceDescription& device() const = 0;
  // Paths of the compilers that it has started.
  virtual std::vector<std::string> CompilerPaths() const { return {}; }
  // As Runner::SetProblem. Errors: as there; Cancelled.
  virtual Status SetProblem(Computation computation, const ProblemOptions& options) = 0;
  // As Runner::LoopNestTime; `time_limit_ns`: of all that is to be done, 0: none. Errors:
  // FailedPrecondition if no problem is set or there is no compiler; Cancelled; Internal.
  virtual Result<int64_t> LoopNestTime(int64_t time_limit_ns) = 0;
  // Errors: Internal if a microbenchmark fails; Cancelled.
  virtual Result<MachinePeaks> Peaks() = 0;
  // As Runner::Health.
  virtual Status Health() = 0;

  // Has a kernel compiled in the background, as far as the options speak of compiling.
  virtual void Compile(int64_t number, const Kernel& kernel, const MeasureOptions& options) = 0;
  // Goes on with what is done in the background; never waits. Errors: files cannot be written.
  virtual Status Advance() = 0;
  // Whether the kernel can be measured now, perhaps with the result that it does not compile.
  virtual bool IsCompiled(int64_t number) = 0;
  // Sockets that have something to be read when it is time for Advance.
  virtual std::vector<int> Sockets() const = 0;
  // Forgets all kernels and ends their compilation.
  virtual void CancelCompilations() = 0;
  // Checks and times a kernel that is compiled. Errors: only if the harness cannot go on: as
  // Health; ResourceExhausted if memory or processes are missing.
  virtual Result<Measurement> Measure(int64_t number, const Kernel& kernel,
                                      const MeasureOptions& options) = 0;
  virtual void Forget(int64_t number) = 0;

  // From now on, until the next problem, `number` is the kernel that shows how fast the machine is.
  // It must be measured and not be forgotten.
  virtual void SetReference(int64_t number, const Kernel& kernel) = 0;
  // The median of a few calls of it; 0 if there is none or it fails. Errors: as Measure.
  virtual Result<double> TimeReference() = 0;
};

}  // namespace mdh

// The runner: a process of its own per device that compiles, runs, checks and times candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/kernel.h"
#include "core/device_description.h"
#include "core/expression.h"
#include "core/numerics.h"
#include "core/status.h"
#include "tuner/measure/measurement.h"

namespace mdh {

struct RunnerOptions {
  std::string program;         // path of mdh-runner
  std::string work_directory;  // made if it is not there; files go to a folder in it
  int threads = 0;             // threads of a kernel; 0: all cores
  // Where compilers are looked for, as $PATH; not given: this process's.
  std::optional<std::string> path;
};

struct MeasureOptions {
  int64_t compile_limit_ns = 30'000'000'000;
  int64_t run_limit_ns = 10'000'000'000;  // for one candidate, checks excluded
  int min_repeats = 3;
  int64_t target_time_ns = 30'000'000;  // repeat until this much was timed, or max_repeats
  int max_repeats = 200;
  // A candidate whose first call takes longer than factor * this is not repeated; 0: off.
  int64_t best_so_far_ns = 0;
  double slow_factor = 1.5;
};

struct MachinePeaks {
  double fp32_flops_per_s = 0;  // all cores, fused multiply-adds counted as two
  double fp64_flops_per_s = 0;
  double memory_bytes_per_s = 0;  // reading arrays larger than the caches, all cores
};

// Client side. Not thread-safe: one caller at a time. A runner that dies is started again, and the
// call that it served reports the failure of its candidates.
class Runner {
 public:
  // Errors: FailedPrecondition if the program is missing, or no compiler works (named in the
  // message).
  static Result<std::unique_ptr<Runner>> Start(RunnerOptions options);
  virtual ~Runner() = default;  // ends the process and its children, removes the directory

  // The device with `compiler` filled in.
  virtual const DeviceDescription& device() const = 0;
  // Draws random inputs and computes the reference result for `expression` (by the plain loop nest,
  // which is checked by interpreting a sample of points). Must precede Measure.
  virtual Status SetProblem(const Expression& expression, uint64_t seed,
                            const Numerics& numerics = {}) = 0;
  // Time of the plain loop nest on one call, as compiled for the reference.
  virtual Result<int64_t> LoopNestTime() = 0;
  // Compiles all candidates, several at a time, then checks and times them one after another.
  // One measurement per kernel, in order. Errors only if the runner itself cannot go on.
  virtual Result<std::vector<Measurement>> Measure(absl::Span<const Kernel> kernels,
                                                   const MeasureOptions& options) = 0;
  // Measured once per process and kept.
  virtual Result<MachinePeaks> Peaks() = 0;
  // Makes a running call return soon: Measure with its remaining candidates as kTimeout with reason
  // "cancelled", the others with Cancelled. May be called from any thread.
  virtual void Interrupt() = 0;
};

}  // namespace mdh

// The runner: a process of its own per device that compiles, runs, checks and times candidates.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/base/trusted_path.h"
#include "core/device/device_description.h"
#include "core/device/machine_peaks.h"
#include "core/expression/numerics.h"
#include "core/pipeline/computation.h"
#include "tuner/measure/confine/confinement.h"
#include "tuner/measure/results/measure_options.h"
#include "tuner/measure/results/measurement.h"

namespace mdh {

struct RunnerOptions {
  std::string program;         // path of mdh-runner
  std::string work_directory;  // made if it is not there; files go to a folder in it
  int threads = 0;             // threads of a kernel; 0: all cores
  // Where compilers are looked for, as $PATH; not given: this process's.
  std::optional<std::string> path;
  // "cpu", "opencl:N" or "cuda:N"; N counts the devices that FindDevices lists of that kind, over
  // all platforms.
  std::string device = "cpu";
  // Cores of this machine that the runner and all that it starts are restricted to: device() is
  // then the part of the device that these are (of CPUs, also under OpenCL). Empty: all.
  std::vector<int> cores = {};
  // What the device has reached before, if that is known: then it is not measured at first.
  std::optional<MachinePeaks> peaks = {};
  ConfinementMode confinement = ConfinementMode::kAuto;
  TrustedUsers trusted = {};  // with the work directory
  // A runner that says nothing for so long after Interrupt hangs, and is ended.
  int64_t interrupt_limit_ns = 10'000'000'000;
  // So does one that says nothing for so long after it was asked for what takes seconds; for
  // kernels, what these may take is added.
  int64_t answer_limit_ns = 120'000'000'000;
  // Set when this process is about to end: no runner is started any more, what runs is interrupted,
  // and who does not obey at once is killed. Null: never.
  std::shared_ptr<const std::atomic<bool>> is_stopping = nullptr;
};

// What a runner does for a problem before kernels can be measured.
enum class ProblemStep : uint8_t {
  kInputs = 1,     // draws them
  kReference = 2,  // computes what results are compared with
};

// Client side. Not thread-safe: one caller at a time. A runner that dies, or hangs, is started
// again, and what was submitted is measured as if nothing had happened; only a kernel with which it
// dies three times fails.
class Runner {
 public:
  // Errors: InvalidArgument if the selector of the device is none; FailedPrecondition if the
  // program or the device is missing, or no compiler works (named in the message); DeadlineExceeded
  // if it is not ready in time; Cancelled if this process is about to end.
  static Result<std::unique_ptr<Runner>> Start(RunnerOptions options);
  virtual ~Runner() = default;  // ends the process and its children, removes the directory

  // The device with `compiler` filled in.
  virtual const DeviceDescription& device() const = 0;
  // Whether a compiler was replaced by another version, or is gone, since device() was said to
  // whoever called Start or Health last. Health then starts the runner again, and device() changes.
  // May be called from any thread.
  virtual bool HasNewCompilers() const { return false; }
  // What the runner is kept from, for people; see Confine.
  virtual std::string confinement() const { return ""; }
  // Draws random inputs and computes the reference result for `computation` (by a plain kernel,
  // which is checked by interpreting a sample of points; see Problem). Must precede Submit and
  // Measure, and must not be called while kernels are submitted and not handed out:
  // FailedPrecondition.
  virtual Status SetProblem(const ComputationView& computation, uint64_t seed,
                            const Numerics& numerics = {}) = 0;
  // Time of the plain loop nest on one call of the host's CPU, as compiled for the reference; 0 if
  // it takes more than a small part of the time that is left (SetDeadline), and of pipelines.
  virtual Result<int64_t> LoopNestTime() = 0;

  // When all must be over, on the clock of NowNs(); from now on, 0: never. SetProblem then contents
  // itself with what it can have in a part of the time that is left (Problem::Create), and fails
  // with DeadlineExceeded if not even that is enough; what still runs at the deadline, or is begun
  // after it, ends as after Interrupt. May be called from any thread.
  virtual void SetDeadline([[maybe_unused]] int64_t deadline_ns) {}
  // Told by SetProblem, from its thread, what is done now. Set before.
  using OnStep = std::function<void(ProblemStep)>;
  virtual void SetStepListener([[maybe_unused]] OnStep on_step) {}

  // Queues a kernel. Kernels are compiled ahead, by several workers, while earlier ones are
  // measured. `number`: the caller's, comes back with the measurement. Errors: FailedPrecondition
  // if no problem is set; if the runner cannot be started.
  virtual Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions& options) = 0;
  struct Finished {
    int64_t number;
    Measurement measurement;
  };
  // Waits for the next measurement, in any order of numbers. Errors: FailedPrecondition if nothing
  // is submitted; FailedPrecondition "unhealthy: ..." as Health; others only if the runner cannot
  // go on. After an error nothing is submitted any more.
  virtual Result<Finished> Next() = 0;
  // All of them, one measurement per kernel, in order. Errors: as Submit and Next, and
  // FailedPrecondition if kernels are submitted already.
  Result<std::vector<Measurement>> Measure(absl::Span<const Kernel> kernels,
                                           const MeasureOptions& options);

  // Takes a kernel back that somebody else, who is silent, was to measure: Next hands it out as
  // cancelled, whatever becomes of it. False: it is measured here, or known already. May be called
  // from any thread.
  virtual bool TakeBack([[maybe_unused]] int64_t number) { return false; }

  // Measured once per process and kept.
  virtual Result<MachinePeaks> Peaks() = 0;
  // Measures them again; keeps, of the old and the new figures, the better ones.
  virtual Result<MachinePeaks> MeasurePeaksAgain() { return Peaks(); }
  // OK, or FailedPrecondition "unhealthy: ...": the device fails again and again, whatever kernel
  // it runs. Tries a known kernel before it says so.
  virtual Status Health() { return absl::OkStatus(); }
  // Makes a running call return soon: Next and Measure with what is submitted as kTimeout with
  // reason "cancelled", the others with Cancelled. May be called from any thread.
  virtual void Interrupt() = 0;
};

}  // namespace mdh

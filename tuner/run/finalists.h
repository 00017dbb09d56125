// The end of a search: its best few once more.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "tuner/measure/runner.h"
#include "tuner/run/interleaved_times.h"
#include "tuner/run/runner_pool.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

struct Finalist {
  Kernel kernel;
  int64_t search_ns = 0;    // its fastest call in the search; 0: it was not measured there
  int64_t expected_ns = 0;  // if it was not: about what a call takes; 0: nobody knows
};

// The smallest of many noisy times is mostly luck: the kernels are timed again, in short turns, and
// their results are checked on inputs that no one has seen before. It ends when the fastest one's
// time has been reached several times and the others are known to be slower, or to take as long
// (InterleavedTimes); on a machine that others use it waits now and then, for `patience_ns` at
// most. Times of all finalists; what could not be settled is marked as disturbed. Errors: those
// of Runner::SetProblem and Runner::Measure; Cancelled.
Result<InterleavedTimes> MeasureFinalists(Runner& runner, const ComputationView& computation,
                                          const TuningOptions& options,
                                          absl::Span<const Finalist> finalists, int64_t patience_ns,
                                          const std::atomic<bool>& cancelled);

// The first half of this: inputs that no one has seen before, and what results are compared with.
// Errors: those of Runner::SetProblem.
Status SetNewProblem(Runner& runner, const ComputationView& computation,
                     const TuningOptions& options);
// The second half: the turns. Errors: those of Runner::Measure; Cancelled.
Result<InterleavedTimes> TakeTurns(Runner& runner, const TuningOptions& options,
                                   absl::Span<const Finalist> finalists, int64_t patience_ns,
                                   const std::atomic<bool>& cancelled);

// The kernel from rules, with which the best are compared.
struct DefaultKernel {
  std::string identity;
  int64_t time_ns = 0;
};

struct FinalsOptions {
  const Expression& expression;
  const TuningOptions& options;
  int64_t patience_ns;
  bool tries_nvcc;  // the best one's kernel, compiled by nvcc, is compared, too
};

// Measures the best of `history` once more, all on one device, as they are compared; another one
// takes over if it gives up. Leaves them in `history`, sorted by these times, and the default's
// time in `by_rules`. Errors: those of the last device, and what the trials have shown stands then;
// as TrialHistory::Replace.
Status MeasureBestAgain(RunnerPool& pool, const FinalsOptions& finals, DefaultKernel& by_rules,
                        TrialHistory& history, const std::atomic<bool>& cancelled);

// Whether others' work is noticed only roughly: of a driver of OpenCL whose threads are the device.
// They sleep between calls, and from how long they queue, all in all, one guesses whether others
// had the cores meanwhile.
bool KnowsDisturbanceRoughly(const DeviceDescription& device);

// The time in nanoseconds that is reserved for one of them.
int64_t FinalistTime(const TuningOptions& options);

}  // namespace mdh

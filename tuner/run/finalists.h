// The end of a search: its best few once more.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "tuner/measure/results/measurement.h"
#include "tuner/measure/runner.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

struct Finalist {
  Kernel kernel;
  int64_t search_ns = 0;  // its fastest call in the search; 0: it was not measured there
};

// The smallest of many noisy times is mostly luck: the kernels are timed again, in short turns, and
// their results are checked on inputs that no one has seen before. It ends when the fastest one's
// time has been reached several times and the others are known to be slower, or to take as long
// (InterleavedTimes); on a machine that others use it waits now and then, for `patience_ns` at
// most. One measurement per kernel; what could not be settled is marked as disturbed. Errors: those
// of Runner::SetProblem and Runner::Measure; Cancelled.
Result<std::vector<Measurement>> MeasureFinalists(Runner& runner, const Expression& expression,
                                                  const TuningOptions& options,
                                                  absl::Span<const Finalist> finalists,
                                                  int64_t patience_ns,
                                                  const std::atomic<bool>& cancelled);

// Whether others' work is noticed only roughly: of a driver of OpenCL whose threads are the device.
// They sleep between calls, and from how long they queue, all in all, one guesses whether others
// had the cores meanwhile.
bool KnowsDisturbanceRoughly(const DeviceDescription& device);

// The time in nanoseconds that is reserved for one of them.
int64_t FinalistTime(const TuningOptions& options);

}  // namespace mdh

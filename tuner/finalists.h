// The end of a search: its best few once more.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "codegen/kernel.h"
#include "core/expression.h"
#include "core/status.h"
#include "tuner/measure/measurement.h"
#include "tuner/measure/runner.h"
#include "tuner/tuning_loop.h"

namespace mdh {

// The smallest of many noisy times is mostly luck: the kernels are timed again, in turn and for
// longer, and their results are checked on inputs that no one has seen before. One measurement per
// kernel. Errors: those of Runner::SetProblem and Runner::Measure.
Result<std::vector<Measurement>> MeasureFinalists(Runner& runner, const Expression& expression,
                                                  const TuningOptions& options,
                                                  absl::Span<const Kernel> kernels);

// The time in nanoseconds that is reserved for one of them.
int64_t FinalistTime(const TuningOptions& options);

}  // namespace mdh

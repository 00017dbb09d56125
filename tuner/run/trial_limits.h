// Concurrency and early stopping of trials, by the kind of device: kernels in work, and what is not
// waited for.
#pragma once

#include <cstdint>

#include "core/device/device_description.h"
#include "tuner/measure/runner.h"
#include "tuner/run/trial_history.h"

namespace mdh {

struct TrialLimits {
  // Kernels in work.
  int lookahead;
  // A candidate is given up whose compilation takes that many times longer than the best one's, but
  // none is before the second time has passed.
  int64_t long_compile_factor;
  int64_t least_compile_limit_ns;
  // At most so much is timed of a trial; for the final figure it is as the options say.
  int64_t most_timed_ns;
  // The calls of a candidate may take so many times the best one's time, but always the second
  // time: those of a good one must fit in, and replacing the process of a device takes time, too.
  int64_t hopeless_factor;
  int64_t least_run_limit_ns;

  static TrialLimits For(const DeviceDescription& device);
};

// `options` for the next trial: what is hopeless beside the best in `history` is not waited for,
// and neither is code that has grown out of proportion; and it may be compiled together with
// others.
MeasureOptions LimitedOptions(MeasureOptions options, const TrialLimits& limits,
                              const TrialHistory& history);
// The same where the best takes `best_ns` (0: nothing was right) and was compiled in that time.
MeasureOptions LimitedOptions(MeasureOptions options, const TrialLimits& limits, int64_t best_ns,
                              int64_t best_compile_ns);

}  // namespace mdh

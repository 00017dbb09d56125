#include "tuner/run/trial_limits.h"

#include <algorithm>
#include <thread>

#include "tuner/measure/compile/device_driver.h"

namespace mdh {
namespace {

// One whose first calls take so many times the best one's is not called again.
constexpr double kClearlyWorse = 1.25;

}  // namespace

// Candidates for a CPU are measured on the cores that compile; those for GPUs wait for the compiler
// much longer than for the device, whose times hardly vary.
TrialLimits TrialLimits::For(const DeviceDescription& device) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (RunsOnHost(device)) {
    return {.lookahead = std::clamp(4 * cores, 8, 32),
            .long_compile_factor = 10,
            .least_compile_limit_ns = 8 * kSecond,
            .most_timed_ns = 100 * kSecond,
            .hopeless_factor = 15,
            .least_run_limit_ns = 2 * kSecond / 5};
  }
  return {.lookahead = std::clamp(2 * cores, 8, 64),
          .long_compile_factor = 4,
          .least_compile_limit_ns = DriverOf(device.kind).least_compile_limit_ns,
          .most_timed_ns = 5'000'000,
          .hopeless_factor = 30,
          .least_run_limit_ns = kSecond};
}

MeasureOptions LimitedOptions(MeasureOptions options, const TrialLimits& limits, int64_t best_ns,
                              int64_t best_compile_ns) {
  options.target_time_ns = std::min(options.target_time_ns, limits.most_timed_ns);
  options.may_share_unit = true;
  if (best_ns == 0) return options;
  options.best_so_far_ns = best_ns;
  options.slow_factor = std::min(options.slow_factor, kClearlyWorse);
  options.compile_limit_ns = std::min(
      options.compile_limit_ns,
      std::max(limits.long_compile_factor * best_compile_ns, limits.least_compile_limit_ns));
  options.run_limit_ns = std::min(
      options.run_limit_ns, std::max(limits.hopeless_factor * best_ns, limits.least_run_limit_ns));
  return options;
}

MeasureOptions LimitedOptions(MeasureOptions options, const TrialLimits& limits,
                              const TrialHistory& history) {
  const int64_t compile_ns =
      history.best().empty() ? 0 : history.best().front().measurement.compile_ns;
  return LimitedOptions(options, limits, history.best_ns(), compile_ns);
}

}  // namespace mdh

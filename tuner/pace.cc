#include "tuner/pace.h"

#include <algorithm>
#include <thread>

namespace mdh {
namespace {

// A candidate that is this many times slower than the best ends as a timeout, but none does before
// the second time has passed: calls of a good one must fit in.
constexpr int64_t kHopelessFactor = 30;
constexpr int64_t kLeastRunLimit = 1'000'000'000;
// One whose first calls take so many times the best one's is not called again.
constexpr double kClearlyWorse = 1.25;

}  // namespace

// Candidates for a CPU are measured on the cores that compile; those for GPUs wait for the compiler
// much longer than for the device, whose times hardly vary.
Pace Pace::For(const DeviceDescription& device) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const bool is_gpu = device.kind != DeviceKind::kCpu && device.blocks.warp_size > 1;
  if (!is_gpu) return {std::clamp(cores, 4, 16), 10, 8 * kSecond, 100 * kSecond};
  // Drivers of OpenCL compile several times as long as NVRTC.
  const int64_t least_limit_ns = device.kind == DeviceKind::kCuda ? 3 * kSecond / 2 : 10 * kSecond;
  return {std::clamp(2 * cores, 8, 64), 4, least_limit_ns, 5'000'000};
}

MeasureOptions LimitedOptions(MeasureOptions options, const Pace& pace, const TrialBook& book) {
  options.target_time_ns = std::min(options.target_time_ns, pace.most_timed_ns);
  if (book.best().empty()) return options;
  const int64_t best_ns = book.best_ns();
  options.best_so_far_ns = best_ns;
  options.slow_factor = std::min(options.slow_factor, kClearlyWorse);
  options.compile_limit_ns =
      std::min(options.compile_limit_ns,
               std::max(pace.long_compile_factor * book.best().front().measurement.compile_ns,
                        pace.least_compile_limit_ns));
  options.run_limit_ns =
      std::min(options.run_limit_ns, std::max(kHopelessFactor * best_ns, kLeastRunLimit));
  return options;
}

}  // namespace mdh

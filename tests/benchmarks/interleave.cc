#include "tests/benchmarks/interleave.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace mdh {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double SecondsPerCall(const std::function<void()>& contender, int64_t calls) {
  contender();
  const Clock::time_point start = Clock::now();
  for (int64_t call = 0; call < calls; ++call) contender();
  return SecondsSince(start) / static_cast<double>(calls);
}

}  // namespace

std::vector<std::vector<double>> MeasureInterleaved(
    absl::Span<const std::function<void()>> contenders, const InterleaveOptions& options) {
  const Clock::time_point start = Clock::now();
  const double window_s = static_cast<double>(options.window_ns) * 1e-9;
  std::vector<int64_t> calls;
  for (const auto& contender : contenders) {
    contender();  // first calls allocate and start threads
    const double once_s = std::max(SecondsPerCall(contender, 1), 1e-8);
    calls.push_back(std::max<int64_t>(1, static_cast<int64_t>(window_s / once_s)));
  }
  std::vector<std::vector<double>> times(contenders.size());
  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random;  // the same orders in every run
  for (int round = 0; round < options.max_rounds; ++round) {
    const bool out_of_time = SecondsSince(start) > static_cast<double>(options.duration_ns) * 1e-9;
    if (round >= options.min_rounds && out_of_time) break;
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t c : order) {
      times[c].push_back(SecondsPerCall(contenders[c], calls[c]));
    }
  }
  return times;
}

double Median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] + *std::max_element(values.begin(), values.begin() + middle)) / 2;
}

double Percentile(std::vector<double> values, double share) {
  const auto nth =
      values.begin() + static_cast<int64_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

double MedianRatio(absl::Span<const double> other, absl::Span<const double> own) {
  std::vector<double> ratios;
  for (size_t round = 0; round < own.size(); ++round) ratios.push_back(other[round] / own[round]);
  return Median(std::move(ratios));
}

}  // namespace mdh

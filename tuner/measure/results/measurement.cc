// Names of outcomes, and the one figure that stands for all timed calls.
#include "tuner/measure/results/measurement.h"

#include <algorithm>
#include <cmath>

namespace mdh {

std::string_view Name(TrialOutcome outcome) {
  switch (outcome) {
    case TrialOutcome::kOk:
      return "ok";
    case TrialOutcome::kCompileError:
      return "compile error";
    case TrialOutcome::kLaunchError:
      return "launch error";
    case TrialOutcome::kTimeout:
      return "timeout";
    case TrialOutcome::kCrash:
      return "crash";
    case TrialOutcome::kOutOfBounds:
      return "out of bounds";
    case TrialOutcome::kWrongResult:
      return "wrong result";
    case TrialOutcome::kOutOfResources:
      return "out of resources";
    case TrialOutcome::kImplausible:
      return "implausible";
  }
  return "unknown outcome";
}

int64_t Measurement::time_ns() const {
  if (outcome != TrialOutcome::kOk || times_ns.empty()) return 0;
  std::vector<int64_t> times = times_ns;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

Measurement::Interval Measurement::interval() const {
  if (outcome != TrialOutcome::kOk || times_ns.empty()) return {};
  return MedianInterval(times_ns);
}

Measurement::Interval MedianInterval(std::vector<int64_t> times_ns) {
  std::ranges::sort(times_ns);
  const auto n = static_cast<double>(times_ns.size());
  // Ranks of the normal approximation of the binomial distribution.
  constexpr double kQuantile = 2.576;
  const double low = std::floor((n - kQuantile * std::sqrt(n)) / 2);
  const double high = std::ceil(1 + (n + kQuantile * std::sqrt(n)) / 2);
  // Ranks count from one.
  const auto at = [&](double rank) {
    return times_ns[static_cast<size_t>(std::clamp(rank, 1.0, n)) - 1];
  };
  return {at(low), at(high)};
}

}  // namespace mdh

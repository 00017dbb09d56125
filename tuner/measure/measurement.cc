// Names of outcomes, and the one figure that stands for all timed calls.
#include "tuner/measure/measurement.h"

#include <algorithm>

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

}  // namespace mdh

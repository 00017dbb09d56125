// What measuring one candidate gives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdh {

enum class TrialOutcome : uint8_t {
  kOk = 1,
  kCompileError = 2,
  kLaunchError = 3,  // loading or starting failed, or out of memory
  kTimeout = 4,
  kCrash = 5,        // a signal; writes to inputs and far out of bounds end here
  kOutOfBounds = 6,  // a guard zone was overwritten
  kWrongResult = 7,  // NaN included
};
std::string_view Name(TrialOutcome outcome);  // "ok", "compile error", ...

struct Measurement {
  TrialOutcome outcome = TrialOutcome::kOk;
  std::string reason;             // for failures: one line for people
  std::vector<int64_t> times_ns;  // one per timed call, in order; empty unless kOk
  int64_t compile_ns = 0;

  // Median of times_ns; 0 unless kOk.
  int64_t time_ns() const;
};

}  // namespace mdh

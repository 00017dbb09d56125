#include "server/jobs/search_effort.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mdh {
namespace {

// Of a limit of which 0 is none.
int64_t HigherLimit(int64_t a, int64_t b) { return a == 0 || b == 0 ? 0 : std::max(a, b); }

bool IsAbove(int64_t limit, int64_t used) { return limit == 0 || limit > used; }

std::string SecondsText(int64_t time_ns) {
  const double seconds = static_cast<double>(time_ns) * 1e-9;
  return absl::StrFormat("%.*f s", seconds < 0.1 ? 3 : 1, seconds);
}

}  // namespace

SearchEffort EffortBehind(const v1::TuningRecord& record) {
  int64_t time_ns = record.total_search_time_ns();
  // Older ones know how long the search took, which ended a little before its budget or after it.
  if (time_ns == 0) time_ns = record.search_time_ns() + record.search_time_ns() / 10;
  return {.time_ns = time_ns, .trials = record.trials(), .is_exhausted = record.is_exhausted()};
}

bool AllowsMore(const v1::TuningOptions& options, const SearchEffort& effort) {
  return !effort.is_exhausted && options.budget_ns() > effort.time_ns &&
         IsAbove(options.max_trials(), effort.trials) &&
         IsAbove(options.max_device_time_ns(), effort.time_ns);
}

v1::TuningOptions WithLimitsOf(v1::TuningOptions options, const v1::TuningOptions& other) {
  options.set_budget_ns(std::max(options.budget_ns(), other.budget_ns()));
  options.set_max_trials(HigherLimit(options.max_trials(), other.max_trials()));
  options.set_max_device_time_ns(
      HigherLimit(options.max_device_time_ns(), other.max_device_time_ns()));
  return options;
}

bool HaveSameLimits(const v1::TuningOptions& a, const v1::TuningOptions& b) {
  return a.budget_ns() == b.budget_ns() && a.max_trials() == b.max_trials() &&
         a.max_device_time_ns() == b.max_device_time_ns();
}

std::string ToText(const SearchEffort& effort) {
  return absl::StrCat("a search of ", SecondsText(effort.time_ns), " with ", effort.trials,
                      effort.trials == 1 ? " trial" : " trials",
                      effort.is_exhausted ? ", all that there are," : "");
}

std::string LimitsText(const v1::TuningOptions& options) {
  std::string text = SecondsText(options.budget_ns());
  if (options.max_trials() > 0) absl::StrAppend(&text, " or ", options.max_trials(), " trials");
  if (options.max_device_time_ns() > 0) {
    absl::StrAppend(&text, " or ", SecondsText(options.max_device_time_ns()), " of devices' time");
  }
  return text;
}

}  // namespace mdh

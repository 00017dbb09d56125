#include "server/jobs/job_metrics.h"

#include <algorithm>

namespace mdh {

void JobMetrics::CountStart(absl::Duration waited) {
  const auto bound =
      std::lower_bound(kWaitBoundsS.begin(), kWaitBoundsS.end(), absl::ToDoubleSeconds(waited));
  absl::MutexLock lock(&mutex_);
  ++figures_.waits[static_cast<size_t>(bound - kWaitBoundsS.begin())];
  figures_.waited += std::max(waited, absl::ZeroDuration());
}

void JobMetrics::CountTrial(const std::string& outcome, absl::Duration device_time) {
  absl::MutexLock lock(&mutex_);
  ++figures_.trials[outcome];
  figures_.measured += std::max(device_time, absl::ZeroDuration());
}

void JobMetrics::CountBoundViolation() {
  absl::MutexLock lock(&mutex_);
  ++figures_.bound_violations;
}

void JobMetrics::CountHelpGot() {
  absl::MutexLock lock(&mutex_);
  ++figures_.help_got;
}

void JobMetrics::CountHelpGiven() {
  absl::MutexLock lock(&mutex_);
  ++figures_.help_given;
}

void JobMetrics::CountEnd(v1::TuningJobState state) {
  absl::MutexLock lock(&mutex_);
  ++figures_.ended[state];
}

JobMetrics::Figures JobMetrics::Read() const {
  absl::MutexLock lock(&mutex_);
  return figures_;
}

}  // namespace mdh

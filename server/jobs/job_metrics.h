// What became of jobs and trials since the start, and how long they waited and measured.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {

// Thread-safe.
class JobMetrics {
 public:
  // Upper bounds of how long jobs waited for their first device, in seconds.
  static constexpr std::array<double, 8> kWaitBoundsS = {0.1, 1, 10, 60, 300, 1'800, 7'200, 43'200};

  struct Figures {
    std::map<std::string, int64_t> trials;                    // by outcome
    std::map<v1::TuningJobState, int64_t> ended;              // jobs, by how they ended
    std::array<int64_t, kWaitBoundsS.size() + 1> waits = {};  // jobs; the last one: no bound
    int64_t bound_violations = 0;                             // trials
    int64_t help_got = 0;     // trials that other daemons have measured for this one
    int64_t help_given = 0;   // and this one for others
    absl::Duration waited;    // all jobs together
    absl::Duration measured;  // devices held, summed over them
  };

  // A job that has got its first device, after so long.
  void CountStart(absl::Duration waited) ABSL_LOCKS_EXCLUDED(mutex_);
  // `device_time`: since the trial before of the job.
  void CountTrial(const std::string& outcome, absl::Duration device_time)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A trial with a right result was faster than anything should be.
  void CountBoundViolation() ABSL_LOCKS_EXCLUDED(mutex_);
  void CountHelpGot() ABSL_LOCKS_EXCLUDED(mutex_);
  void CountHelpGiven() ABSL_LOCKS_EXCLUDED(mutex_);
  void CountEnd(v1::TuningJobState state) ABSL_LOCKS_EXCLUDED(mutex_);

  Figures Read() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  Figures figures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh

// How much callers of a role may ask for.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/tuning.pb.h"
#include "server/access/role.h"

namespace mdh {

// Of one principal, or of one address without a name. 0: no limit.
struct RoleLimits {
  int64_t requests_per_second = 0;  // on average; a second's worth may come at once
  int64_t calls = 0;                // that are answered at the same time, but for watches
  int64_t watches = 0;              // streams of WatchKernels and WatchTuningJob at the same time
  int64_t queued_jobs = 0;          // that wait or are paused
  int64_t device_time_s = 0;        // of one tuning job, summed over its devices

  friend bool operator==(const RoleLimits&, const RoleLimits&) = default;
};

// For each role; those of Role::kNone mean nothing.
class LimitTable {
 public:
  // Administrators have no limits, others those that a build farm does not notice.
  LimitTable();

  const RoleLimits& of(Role role) const { return limits_[static_cast<size_t>(role)]; }
  // `setting`: "calls=64". Errors: InvalidArgument.
  Status Set(Role role, std::string_view setting);

 private:
  std::array<RoleLimits, 5> limits_;
};

// Gives a job the device time that its caller may use, if it names none. Errors: ResourceExhausted,
// with a QuotaFailure of `source`, if it asks for more.
Status LimitDeviceTime(const RoleLimits& limits, std::string_view source,
                       v1::TuningOptions& options);

}  // namespace mdh

// Counts what each caller asks for, and refuses what is too much.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "server/access/call_kind.h"
#include "server/access/role_limits.h"
#include "server/operate/steady_time.h"

namespace mdh {

// Thread-safe.
class CallLimiter {
 public:
  // A call, from Enter until the slot is destroyed. The limiter must outlive it.
  class Slot {
   public:
    Slot() = default;  // of a call without limits
    Slot(Slot&& other) noexcept { *this = std::move(other); }
    Slot& operator=(Slot&& other) noexcept;
    ~Slot() { Leave(); }

   private:
    friend class CallLimiter;
    Slot(CallLimiter* limiter, std::string who, CallKind kind)
        : limiter_(limiter), who_(std::move(who)), kind_(kind) {}
    void Leave();

    CallLimiter* limiter_ = nullptr;
    std::string who_;
    CallKind kind_ = CallKind::kCall;
  };

  // Callers that are counted apart; more share one count.
  static constexpr size_t kMaxCallers = 10'000;

  // One request. Errors: ResourceExhausted with a QuotaFailure of `who` and a RetryInfo.
  Status Count(const std::string& who, const RoleLimits& limits, absl::Time now = SteadyTime())
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A call that lasts. Errors: as Count.
  Result<Slot> Enter(const std::string& who, const RoleLimits& limits, CallKind kind,
                     absl::Time now = SteadyTime()) ABSL_LOCKS_EXCLUDED(mutex_);

  size_t callers() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Usage {
    double tokens = 0;  // requests that may come now
    absl::Time counted = absl::InfinitePast();
    int64_t calls = 0;
    int64_t watches = 0;
    int64_t& open(CallKind kind) { return kind == CallKind::kCall ? calls : watches; }
  };
  std::pair<const std::string, Usage>& Find(const std::string& who, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetIdle(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Status TakeToken(const std::string& who, Usage& usage, const RoleLimits& limits,
                          absl::Time now);

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Usage> usage_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_forget_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace mdh

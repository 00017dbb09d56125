#include "server/access/call_limiter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/error_details.h"

namespace mdh {
namespace {

// The count of all for whom there is no room.
constexpr const char* kOthers = "others";
// After this a caller has its full share again.
constexpr absl::Duration kIdle = absl::Seconds(2);
constexpr absl::Duration kRetryOpen = absl::Seconds(1);

Status TooMuch(const std::string& who, const char* reason, const std::string& message,
               absl::Duration retry) {
  return WithRetry(
      WithQuota(WithReason(ResourceExhausted(message), reason), absl::StrCat("caller:", who)),
      retry);
}

}  // namespace

CallLimiter::Slot& CallLimiter::Slot::operator=(Slot&& other) noexcept {
  Leave();
  limiter_ = std::exchange(other.limiter_, nullptr);
  who_ = std::move(other.who_);
  kind_ = other.kind_;
  return *this;
}

void CallLimiter::Slot::Leave() {
  if (limiter_ == nullptr) return;
  absl::MutexLock lock(&limiter_->mutex_);
  // Callers with open calls are not forgotten.
  --limiter_->usage_[who_].open(kind_);
  limiter_ = nullptr;
}

void CallLimiter::ForgetIdle(absl::Time now) {
  if (now < next_forget_) return;  // it takes a while, and new callers may be many
  next_forget_ = now + kIdle;
  for (auto it = usage_.begin(); it != usage_.end();) {
    const Usage& usage = it->second;
    const bool is_idle = usage.calls == 0 && usage.watches == 0 && now - usage.counted > kIdle;
    if (is_idle) {
      usage_.erase(it++);
    } else {
      ++it;
    }
  }
}

std::pair<const std::string, CallLimiter::Usage>& CallLimiter::Find(const std::string& who,
                                                                    absl::Time now) {
  const auto found = usage_.find(who);
  if (found != usage_.end()) return *found;
  if (usage_.size() >= kMaxCallers) ForgetIdle(now);
  return *usage_.try_emplace(usage_.size() >= kMaxCallers ? kOthers : who).first;
}

Status CallLimiter::TakeToken(const std::string& who, Usage& usage, const RoleLimits& limits,
                              absl::Time now) {
  if (limits.requests_per_second == 0) {
    usage.counted = now;
    return absl::OkStatus();
  }
  const auto rate = static_cast<double>(limits.requests_per_second);
  const double since = std::min(absl::ToDoubleSeconds(now - usage.counted), 1.0);
  usage.tokens = std::min(usage.tokens + rate * std::max(since, 0.0), rate);
  usage.counted = now;
  if (usage.tokens >= 1) {
    usage.tokens -= 1;
    return absl::OkStatus();
  }
  return TooMuch(
      who, "RATE_LIMIT",
      absl::StrCat(who, " makes more than ", limits.requests_per_second, " requests a second"),
      absl::Seconds((1 - usage.tokens) / rate));
}

Status CallLimiter::Count(const std::string& who, const RoleLimits& limits, absl::Time now) {
  if (limits.requests_per_second == 0) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  auto& [counted_as, usage] = Find(who, now);
  return TakeToken(counted_as, usage, limits, now);
}

Result<CallLimiter::Slot> CallLimiter::Enter(const std::string& who, const RoleLimits& limits,
                                             CallKind kind, absl::Time now) {
  const int64_t most = kind == CallKind::kCall ? limits.calls : limits.watches;
  if (most == 0 && limits.requests_per_second == 0) return Slot();
  absl::MutexLock lock(&mutex_);
  auto& [counted_as, usage] = Find(who, now);
  MDH_RETURN_IF_ERROR(TakeToken(counted_as, usage, limits, now));
  if (most > 0 && usage.open(kind) >= most) {
    const bool is_call = kind == CallKind::kCall;
    return TooMuch(counted_as, is_call ? "CALL_QUOTA" : "WATCH_QUOTA",
                   absl::StrCat(counted_as, " has ", most, is_call ? " calls" : " watches",
                                " open, as many as one caller may have"),
                   kRetryOpen);
  }
  ++usage.open(kind);
  return Slot(this, counted_as, kind);
}

size_t CallLimiter::callers() const {
  absl::MutexLock lock(&mutex_);
  return usage_.size();
}

}  // namespace mdh
